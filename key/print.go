package key

import (
	"encoding/json"
	"fmt"
	"strings"
)

// unitSummary is a Unit without its code.
type unitSummary struct {
	Kind    Kind            `json:"kind"`
	Size    int             `json:"size"`
	Headers []headerSummary `json:"headers,omitempty"`
	Files   []File          `json:"files,omitempty"`
	Dir     string          `json:"dir,omitempty"`
}

type headerSummary struct {
	Name string `json:"name"`
	Size int    `json:"size"`
}

// MarshalJSON writes what the image is made of, without code.
func (m *Image) MarshalJSON() ([]byte, error) {
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
	d := r.Device.normal()
	line("device", "%s (%s)", d, d.API)
	for _, p := range d.Traits {
		line("  trait", "%s = %s", p.Name, p.Value)
	}
	for _, p := range d.Compiler {
		line("  compiler", "%s %s", p.Name, p.Value)
	}
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
	switch {
	case o.Absent:
		line("options", "(none given)")
	default:
		line("options", "%q", o.CompileString())
	}
	if o.LinkAbsent {
		line("  link", "(none given)")
	}
	if len(o.Link) > 0 {
		line("  link", "%q", o.LinkString())
	}
	for _, v := range o.Variables {
		line("variable", "%s=%s", v.Name, v.Value)
	}
	for _, a := range o.Attributes {
		line("attribute", "%s=%q", a.Name, a.Value)
	}
	for _, a := range o.Unkeyed {
		line("  unkeyed", "%s=%q", a.Name, a.Value)
	}
	return b.String()
}
