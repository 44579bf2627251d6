//go:build linux && !nogpu

package build_test

import (
	"crypto/sha256"
	"os"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/deps/flags"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/key"
)

// attributes are in all recipes here: a worker keeps them.
var attributes = []key.Pair{{Name: "a", Value: "2"}, {Name: "a", Value: "1"}}

// recipeOf makes the recipe of a request as the library does.
func recipeOf(q request, d *opencl.Device, image *kernstash.Image) (*key.Recipe, error) {
	id, err := d.Identify()
	if err != nil {
		return nil, err
	}
	r := &key.Recipe{Device: id, Image: image.Image, Options: key.BuildOptions{Compile: key.Tokens(q.Options), Variables: d.Variables(), Attributes: attributes}}
	units := append([]key.Unit(nil), image.Units()...)
	located := false
	for i, u := range units {
		if deps.ScanUnit(u).Reads == "" {
			if flags.KeepPaths(r.Options.Compile, false) {
				if units[i].Dir, err = os.Getwd(); err != nil {
					return nil, err
				}
				located = true
			}
			continue
		}
		c, err := opencl.Open(d)
		if err != nil {
			return nil, err
		}
		dir, err := os.Getwd()
		if err != nil {
			return nil, err
		}
		search, err := opencl.NewRuntime(c, opencl.RuntimeOptions{}).HeaderSearch(0, dir, kernstash.Request{})
		if err != nil {
			return nil, err
		}
		search.Dir = dir
		t, against := deps.Track(u, r.Options.Compile, search)
		if !against.None() {
			return nil, errReason(against.String())
		}
		units[i], located = t.Unit, located || t.Unit.Dir != ""
	}
	if r.Image, err = new(key.Image).Tracked(units); err != nil {
		return nil, err
	}
	if !located {
		r.Options.Compile, r.Options.Search = flags.SplitSearch(r.Options.Compile)
	}
	return r, nil
}

type errReason string

func (e errReason) Error() string { return string(e) }

// headersOf returns the contents of a recipe's header files.
func headersOf(r *key.Recipe) map[key.Digest][]byte {
	all := make(map[key.Digest][]byte)
	for _, u := range r.Image.Units() {
		for _, f := range u.Files {
			if b, err := os.ReadFile(f.Path); err == nil {
				all[sha256.Sum256(b)] = b
			}
		}
	}
	return all
}
