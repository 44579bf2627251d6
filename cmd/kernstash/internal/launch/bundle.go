package launch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/bundle"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/bundles"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/runlog"
)

// Restored is what a command did with the bundle of --bundle.
type Restored struct {
	Dir     string         `json:"dir"`
	Entries int            `json:"entries"`
	Hits    int            `json:"hits"`              // programs that were found in it
	Caches  []bundle.Usage `json:"caches,omitempty"`  // of other tools
	Unset   []string       `json:"ignored,omitempty"` // of those, the ones about which the user has said something
}

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
	r.outcome.Restored = &Restored{Dir: copied.Dir, Entries: copied.Entries}
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

// text says it for people.
func (of *Restored) text() string {
	if of == nil {
		return ""
	}
	var texts []string
	switch {
	case of.Hits > 0:
		texts = append(texts, fmt.Sprintf("%s found", human.Plural(of.Hits, "program")))
	case of.Entries > 0:
		texts = append(texts, fmt.Sprintf("inert, no program was found among %s", human.Plural(of.Entries, "entry")))
	}
	for _, u := range of.Caches {
		if slices.Contains(of.Unset, u.Name) {
			texts = append(texts, u.Name+": left alone, as you have set its variables")
			continue
		}
		texts = append(texts, bundles.UsageText(u))
	}
	if len(texts) == 0 {
		return ""
	}
	return human.Printable("  of the bundle: "+strings.Join(texts, "; ")+"\n", true)
}
