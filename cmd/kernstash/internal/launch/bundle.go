package launch

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/bundle"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/bundles"
	"github.com/kernstash/kernstash/internal/runlog"
)

// restoreBundle unpacks the bundle that --bundle names, unless that was done before, and has the command use what
// is in it, but for caches about which the user has said something. What is wrong with it is a warning.
func (r *runner) restoreBundle() {
	o := r.options
	if o.Bundle == "" {
		return
	}
	trusted, err := bundles.Trusted(r.settings, o.Trust)
	var copied *bundles.Copy
	if err == nil {
		copied, err = bundles.Restored(context.Background(), o.Bundle, "", trusted, r.settings.Layers)
	}
	if err != nil {
		r.warn(err)
		return
	}
	var all []Variable
	set := copied.Unset(r.env.has)
	for _, v := range set {
		all = append(all, Variable(v))
	}
	if r.copied = copied; !r.ended {
		copied.Watch(context.Background())
	}
	r.outcome.Restored = &bundles.Used{Dir: copied.Dir, Entries: copied.Entries}
	for _, h := range copied.Caches {
		if len(h.Variables) > 0 && !slices.ContainsFunc(set, func(v bundle.Variable) bool { return v.Name == h.Variables[0].Name }) {
			r.outcome.Restored.Unset = append(r.outcome.Restored.Unset, h.Name)
		}
	}
	r.variables = append(r.variables, all...)
	r.env = r.env.with(all)
}

func (e environ) has(name string) bool {
	return slices.ContainsFunc(e, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
}

// lookAtBundle says what was used of the bundle.
func (r *runner) lookAtBundle() {
	of := r.outcome.Restored
	if of == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	of.Caches = r.copied.Usage(ctx) // where it takes longer it is not said
	if i := slices.IndexFunc(r.outcome.Layers, func(c runlog.Count) bool { return c.What == of.Dir }); i >= 0 {
		of.Hits = r.outcome.Layers[i].N
	}
}
