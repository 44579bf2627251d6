package layer

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/key"
)

// Why units that are compiled each, and then linked, are not cached.
var (
	// A key has one list of options for all units.
	errMixed = errors.New("units with different options")

	// Which files a unit read is known only of those that were compiled under the
	// layer.
	errFiles = errors.New("units that read header files, and were compiled nobody knows how")

	errLibraryOption = errors.New("options that make a library")

	errRandomUnit = errors.New("a unit that ends with a constant of a random name, which what it is linked with could mean")
)

// coreOfUnits returns a request to link units, or to compile one, on a pool.
func (r *Request) coreOfUnits(tells bool, known []*compiled, on *pool) (engine.Request, error) {
	first := &r.Units[0]
	out := engine.Request{
		Constants: first.Constants, CompileOptions: text(first.Options),
		NoOptions: first.Options == nil && tells,
	}
	if r.What == Link {
		out.LinkOptions, out.NoLinkOptions = text(r.Options), r.Options == nil && tells
	}
	for _, w := range key.Tokens(out.LinkOptions) {
		if w == "-create-library" || w == "-enable-link-options" {
			return out, errLibraryOption
		}
	}
	units := make([]key.Unit, len(r.Units))
	for i := range r.Units {
		u := &r.Units[i]
		if !slices.Equal(key.Tokens(text(u.Options)), key.Tokens(text(first.Options))) || (u.Options == nil) != (first.Options == nil) && tells {
			return out, errMixed
		}
		if !equalConstants(u.Constants, first.Constants) {
			return out, fmt.Errorf("%w: constants", errMixed)
		}
		units[i] = key.Unit{Kind: u.Kind, Code: u.code(), Headers: u.Headers}
		if u.Kind == key.OpenCLC && opencl.EndsWithRandomName(units[i].Code) {
			return out, errRandomUnit
		}
	}
	if r.What == Compile {
		image, err := key.NewImageSet(units...)
		if err == nil {
			out.Image = engine.NewImage(image)
		}
		return out, err
	}
	image, err := key.NewImageSequence(units...)
	if err != nil {
		return out, err
	}
	out.Image = engine.NewCompiledImage(image, on.compiledUnits(known))
	if out.Image.ReadsFiles() && !slices.ContainsFunc(known, func(c *compiled) bool { return c != nil }) {
		err = errFiles
	}
	return out, err
}

// equalConstants says whether two lists say the same.
func equalConstants(a, b []key.SpecConstant) bool {
	sorted := func(c []key.SpecConstant) []key.SpecConstant {
		return slices.SortedStableFunc(slices.Values(c), func(a, b key.SpecConstant) int { return cmp.Compare(a.ID, b.ID) })
	}
	return slices.EqualFunc(sorted(a), sorted(b), func(a, b key.SpecConstant) bool {
		return a.ID == b.ID && bytes.Equal(a.Value, b.Value)
	})
}

// compiles is what is stored for a unit that is known to compile, and of which
// nothing else is needed. Of one that reads header files it is what the compiler
// made: it cannot be compiled later, when they may be others.
var compiles = []byte{1}
