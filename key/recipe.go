package key

import (
	"fmt"

	"github.com/kernstash/kernstash/internal/wire"
)

// Recipe is what a build for one device needs, and what its key is made of. It
// is kept beside the artifact, so that every entry can be compared, explained
// and rebuilt. A Recipe must not be changed once it is in use.
type Recipe struct {
	Device    Device
	Image     *Image
	Constants Constants
	Options   BuildOptions
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
