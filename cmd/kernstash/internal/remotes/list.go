package remotes

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/bundles"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/entries"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/terminal"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/trust"
)

// listed is an entry as `remote ls --json` writes it.
type listed struct {
	Remote  string    `json:"remote"`
	Key     string    `json:"key"`
	Kernels []string  `json:"kernels"`
	Device  string    `json:"device"`
	Size    int64     `json:"size"` // of the object
	CostMS  float64   `json:"cost_ms"`
	Written time.Time `json:"written"`
	Signer  string    `json:"signer,omitempty"`
	Builder string    `json:"builder,omitempty"`
	Object  string    `json:"object"`
	Bad     string    `json:"bad,omitempty"`
}

// List lists the entries of the tenant, those that filters ask for.
func List(ctx context.Context, a *cli.App, only string, filters []string) error {
	wanted, err := bundles.Filter(filters)
	if err != nil {
		return err
	}
	return within(a, only, func(c *Chain) error {
		for i, t := range c.Tiers {
			if i > 0 && !a.JSON {
				a.Printf("\n")
			}
			err := c.reach(ctx, t)
			if err == nil {
				err = named(t, c.list(ctx, a, t, func(d remote.Description) bool { return wanted(d.Info) }))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *Chain) list(ctx context.Context, a *cli.App, t Tier, wanted func(remote.Description) bool) error {
	var rows [][]string
	var bytes int64
	now := time.Now()
	for d, err := range t.Store.Describe(ctx) {
		if err != nil {
			return err
		}
		if !wanted(d) {
			continue
		}
		bytes += d.Size
		signer := "not signed"
		if d.Signer != nil {
			signer = trust.Fingerprint(d.Signer)
		}
		if a.JSON {
			l := listed{
				Remote: t.Name, Key: d.Key.String(), Kernels: append([]string{}, d.Kernels...), Device: entries.DeviceName(d.Info), Size: d.Size,
				CostMS: human.Millis(d.Cost), Written: d.Written.UTC(), Builder: d.Builder, Object: d.Location,
			}
			if d.Signer != nil {
				l.Signer = signer
			}
			if d.Bad != nil {
				l.Bad = d.Bad.Error()
			}
			if err := terminal.EncodeJSON(a.Out, l, ""); err != nil {
				return err
			}
			continue
		}
		what := entries.Name(d.Info)
		if d.Bad != nil {
			what = "cannot hit: " + human.Printable(d.Bad.Error(), false)
		}
		rows = append(rows, []string{
			d.Key.Short(), what, human.Printable(entries.DeviceName(d.Info), false), human.Size(d.Size), human.Age(d.Written, now), signer,
		})
	}
	if a.JSON {
		return nil
	}
	slices.SortFunc(rows, func(x, y []string) int { return strings.Compare(x[0], y[0]) })
	if len(rows) > 0 {
		if err := a.Terminal().WriteTable(a.Out, []string{"KEY", "KERNELS", "DEVICE", ">SIZE", ">AGE", "SIGNER"}, rows); err != nil {
			return err
		}
	}
	a.Printf("%s, %s, tenant %s, in %s\n", human.Plural(len(rows), "entry"), human.Size(bytes), c.Tenant, human.Printable(t.Name, false))
	return nil
}

// counted is what a tenant has in a remote, as `remote stat --json` writes it.
type counted struct {
	Remote    string `json:"remote"`
	Tenant    string `json:"tenant"`
	Layout    string `json:"layout"` // v1: that of this version of kernstash
	Entries   int64  `json:"entries"`
	Manifests int64  `json:"manifests"`
	Apps      int64  `json:"apps"` // of which it is known what they use
	Bytes     int64  `json:"bytes"`
}

// Stat says how much there is of the tenant, or, if all is set, of all tenants that may be listed.
func Stat(ctx context.Context, a *cli.App, only string, all bool) error {
	return within(a, only, func(c *Chain) error {
		report := []counted{}
		var failed error
		for _, t := range c.Tiers {
			if failed = c.reach(ctx, t); failed != nil {
				break
			}
			var found []counted
			if found, failed = c.count(ctx, t, all); failed != nil {
				failed = named(t, failed)
				break
			}
			report = append(report, found...)
		}
		return reported(a, report, true, failed, func() {
			for _, s := range report {
				layout := ""
				if s.Layout != c.layout() {
					layout = " of another version of kernstash"
				}
				apps := ""
				if s.Apps > 0 {
					apps = ", " + human.Plural(s.Apps, "known application")
				}
				a.Printf("%s: tenant %s: %s%s, %s of header files%s, %s\n", human.Printable(s.Remote, false), s.Tenant,
					human.Plural(s.Entries, "entry"), layout, human.Plural(s.Manifests, "list"), apps, human.Size(s.Bytes))
			}
		})
	})
}

// layout returns the first part of the names of objects.
func (c *Chain) layout() string {
	layout, _, _ := strings.Cut(c.Tiers[0].Store.Prefix(), "/")
	return layout
}

// count lists a remote. The tenant of the settings is among what it returns.
func (c *Chain) count(ctx context.Context, t Tier, all bool) ([]counted, error) {
	prefix := t.Store.Prefix()
	if all {
		prefix = "v"
	}
	own := counted{Remote: t.Name, Tenant: c.Tenant, Layout: c.layout()}
	found := map[string]*counted{own.Layout + "/" + own.Tenant: &own}
	for o, err := range t.Objects.List(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		parts := strings.Split(o.Name, "/")
		if len(parts) < 4 || parts[2] == "ping" {
			continue
		}
		of := parts[0] + "/" + parts[1]
		if found[of] == nil {
			found[of] = &counted{Remote: t.Name, Tenant: parts[1], Layout: parts[0]}
		}
		found[of].Bytes += o.Size
		switch parts[2] {
		case "m":
			found[of].Manifests++
		case "a":
			found[of].Apps++
		case "p": // what is packed is there besides
		default:
			found[of].Entries++
		}
	}
	var out []counted
	for _, of := range slices.Sorted(maps.Keys(found)) {
		out = append(out, *found[of])
	}
	return out, nil
}
