package key

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/internal/wire"
)

// Recipe is what a build for one device needs, and what its key is made of. It
// is kept beside the artifact, so that every entry can be compared, explained
// and rebuilt. A Recipe must not be changed once it is in use.
type Recipe struct {
	Device    Device       `json:"device"`
	Image     *Image       `json:"image"`
	Constants Constants    `json:"constants"`
	Options   BuildOptions `json:"options"`
}

// Key returns the recipe's key. It hashes the device, the constants and the
// options; the image's digest was made with the image.
func (r *Recipe) Key() Key {
	return New(r.Device.Digest(), r.Image.Digest(), r.Constants.Digest(), r.options().Digest())
}

// options returns the options as they are in the key.
func (r *Recipe) options() BuildOptions {
	o := r.Options
	if r.Device.API == "opencl" {
		o.Compile = canonical(o.Compile)
	}
	return o
}

// Append appends the recipe's canonical encoding to b.
func (r *Recipe) Append(b []byte) []byte {
	c := &coder{b: b}
	c.recipe(&Recipe{r.Device.normal(), r.Image, r.Constants, r.Options.normal()})
	return c.b
}

// ParseRecipe reads what [Recipe.Append] wrote, and nothing else: bytes that
// no Append can have written are an error that wraps [ErrEncoding], those of a
// version with another [Schema] one that wraps [ErrSchema] as well. The recipe
// shares memory with b.
func ParseRecipe(b []byte) (*Recipe, error) {
	c, r := &coder{r: wire.NewReader(b)}, &Recipe{Image: new(Image)}
	c.recipe(r)
	if err := c.r.End(); err != nil {
		return nil, fmt.Errorf("parse recipe: %w: %w", ErrEncoding, err)
	}
	return r, nil
}

// recipe codes a recipe whose device and options are normal.
func (c *coder) recipe(r *Recipe) {
	if v := c.schema(); v != Schema {
		c.r.Fail("%w: %d, this is %d", ErrSchema, v, Schema)
	}
	c.device(&r.Device)
	c.image(r.Image)
	c.constants(&r.Constants)
	c.options(&r.Options)
	c.words(&r.Options.Search)
	c.pairs(&r.Options.Unkeyed, compareNames)
}

// schema codes how a recipe begins.
func (c *coder) schema() int {
	v := Schema
	c.literal(tagRecipe)
	number(c, &v, 1<<31)
	return v
}

// RecipeSchema returns the key schema of a recipe whose encoding starts with b; ok is
// false where it does not say.
func RecipeSchema(b []byte) (schema uint64, ok bool) {
	c := &coder{r: wire.NewReader(b)}
	v := c.schema()
	return uint64(v), c.r.Err() == nil
}

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
	type plain Recipe // without this method
	return json.Marshal(plain{r.Device.normal(), r.Image, r.Constants, r.Options.normal()})
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

// WithoutPlaces returns a recipe of the same key that says of no header file where it was, unless the
// key does, and has no other part that is in no key. It is for recipes that leave the machine. It does
// not change r.
func (r *Recipe) WithoutPlaces() (*Recipe, error) {
	own := *r
	own.Options.Search, own.Options.Unkeyed = nil, nil
	units := slices.Clone(r.Image.Units())
	for i := range units {
		if units[i].Dir != "" {
			continue
		}
		units[i].Files = slices.Clone(units[i].Files)
		for j := range units[i].Files {
			units[i].Files[j].Path = path.Base(filepath.ToSlash(units[i].Files[j].Path))
		}
	}
	var err error
	if own.Image, err = r.Image.Tracked(units); err == nil && own.Key() != r.Key() {
		err = errors.New("the recipe without places has another key")
	}
	return &own, err
}
