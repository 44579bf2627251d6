package key

import (
	"encoding/json"
	"fmt"
	"strings"
)

// MarshalJSON writes what the image is made of, without code.
func (m *Image) MarshalJSON() ([]byte, error) {
	type headerSummary struct {
		Name string `json:"name"`
		Size int    `json:"size"`
	}
	type unitSummary struct {
		Kind    Kind            `json:"kind"`
		Size    int             `json:"size"`
		Headers []headerSummary `json:"headers,omitempty"`
		Files   []File          `json:"files,omitempty"`
		Dir     string          `json:"dir,omitempty"`
	}
	units := make([]unitSummary, len(m.units))
	for i, u := range m.units {
		units[i] = unitSummary{Kind: u.Kind, Size: len(u.Code), Files: u.Files, Dir: u.Dir}
		for _, h := range u.Headers {
			units[i].Headers = append(units[i].Headers, headerSummary{h.Name, len(h.Content)})
		}
	}
	return json.Marshal(struct {
		Digest   Digest        `json:"digest"`
		Sequence bool          `json:"sequence,omitempty"` // the units are linked in their order
		Units    []unitSummary `json:"units"`
	}{m.digest, m.sequence, units})
}

// MarshalJSON writes the recipe's components, without code.
func (r *Recipe) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Device    Device       `json:"device"`
		Image     *Image       `json:"image"`
		Constants Constants    `json:"constants"`
		Options   BuildOptions `json:"options"`
	}{r.Device.normal(), r.Image, r.Constants, r.Options.normal()})
}

// String returns the recipe for people: a line for each thing that is in the
// key, without code.
func (r *Recipe) String() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s%s\n", name, fmt.Sprintf(format, args...))
	}
	pairs := func(name, format string, all []Pair) {
		for _, p := range all {
			line(name, format, p.Name, p.Value)
		}
	}
	d := r.Device.normal()
	line("device", "%s (%s)", d, d.API)
	pairs("  trait", "%s = %s", d.Traits)
	pairs("  compiler", "%s %s", d.Compiler)
	linked := ""
	if r.Image.sequence {
		linked = ", compiled and linked in this order"
	}
	for _, u := range r.Image.units {
		line("image", "%s, %d bytes%s", u.Kind, len(u.Code), linked)
		for _, h := range u.Headers {
			line("  header", "%s, %d bytes", h.Name, len(h.Content))
		}
		for _, f := range u.Files {
			line("  file", "%s, %d bytes, %s", f.Path, f.Size, f.Digest.Dir())
		}
		if u.Dir != "" {
			line("  in", "%s", u.Dir)
		}
	}
	for _, c := range r.Constants {
		line("constant", "%d = 0x%x", c.ID, c.Value)
	}
	o := r.Options.normal()
	if o.Absent {
		line("options", "(none given)")
	} else {
		line("options", "%q", o.CompileString())
	}
	if o.LinkAbsent {
		line("  link", "(none given)")
	}
	if len(o.Link) > 0 {
		line("  link", "%q", o.LinkString())
	}
	pairs("variable", "%s=%s", o.Variables)
	pairs("attribute", "%s=%q", o.Attributes)
	pairs("  unkeyed", "%s=%q", o.Unkeyed)
	return b.String()
}
