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
	b = append(b, tagRecipe...)
	b = appendUint(b, Schema)
	b = r.Device.append(b)
	b = r.Image.append(b)
	b = r.Constants.append(b)
	b = r.Options.append(b)
	b = appendWords(b, r.Options.Search)
	return appendPairs(b, SortAttributes(r.Options.Unkeyed))
}

// ParseRecipe reads what [Recipe.Append] wrote, and nothing else: bytes that
// no Append can have written are an error that wraps [ErrEncoding], those of a
// version with another [Schema] one that wraps [ErrSchema] as well. The recipe
// shares memory with b.
func ParseRecipe(b []byte) (*Recipe, error) {
	r := reader{wire.NewReader(b)}
	r.literal(tagRecipe)
	if v := r.uint(1 << 31); v != Schema {
		r.Fail("%w: %d, this is %d", ErrSchema, v, Schema)
	}
	out := &Recipe{Device: r.device(), Image: r.image(), Constants: r.constants(), Options: r.options()}
	out.Options.Search = r.words()
	out.Options.Unkeyed = r.pairs(compareNames)
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("parse recipe: %w: %w", ErrEncoding, err)
	}
	return out, nil
}
