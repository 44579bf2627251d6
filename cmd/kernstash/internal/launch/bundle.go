package launch

import (
	"context"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/bundles"
)

// restoreBundle unpacks the bundle that --bundle names, unless that was done before, and has the command use what
// is in it, but for caches about which the user has said something. What is wrong with it is a warning.
func (r *runner) restoreBundle() {
	o := r.options
	if o.Bundle == "" {
		return
	}
	copied, err := bundles.Restored(context.Background(), o.Bundle, "", o.Trust, r.settings.Layers)
	if err != nil {
		r.warn(err)
		return
	}
	var all []Variable
	for _, v := range copied.Unset(r.env.has) {
		all = append(all, Variable(v))
	}
	r.variables = append(r.variables, all...)
	r.env = r.env.with(all)
}

func (e environ) has(name string) bool {
	return slices.ContainsFunc(e, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
}
