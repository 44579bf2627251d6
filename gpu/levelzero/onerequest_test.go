//go:build !nogpu && linux

package levelzero_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/key"
)

// Which requests of SPIR-V share what was compiled, in the order in which they are made.
// Each has a cache of its own, on one root.
func TestOneRequestOfLevelZero(t *testing.T) {
	t.Parallel()
	const made, found = kernstash.Compiled, kernstash.Disk
	root := filepath.Join(t.TempDir(), "root")
	for _, test := range []struct {
		name      string
		origin    kernstash.Origin
		modules   []string
		options   string
		constants []key.SpecConstant
	}{
		{"a module", made, []string{"scale"}, "", nil},
		{"again", found, []string{"scale"}, "", nil},
		{"a constant", made, []string{"scale"}, "", []key.SpecConstant{key.Uint32(7, 5)}},
		{"the constant again", found, []string{"scale"}, "", []key.SpecConstant{key.Uint32(7, 5)}},
		{"another constant", made, []string{"scale"}, "", []key.SpecConstant{key.Uint32(7, 9)}},
		{"an option", made, []string{"scale"}, "-ze-opt-disable", nil},
		{"the option with spaces", found, []string{"scale"}, "  -ze-opt-disable ", nil},
		{"another option", made, []string{"scale"}, "-ze-take-global-address", nil},
		{"two modules", made, []string{"imports", "exports"}, "", nil},
		{"two modules in another order", found, []string{"exports", "imports"}, "", nil},
		{"one of the two", made, []string{"exports"}, "", nil},
	} {
		cache, x, err := cached(root)
		if err != nil {
			t.Fatal(err)
		}
		var units []key.Unit
		for _, name := range test.modules {
			code, err := readSPIRV(name)
			if err != nil {
				t.Fatal(err)
			}
			units = append(units, key.Unit{Kind: key.SPIRV, Code: code})
		}
		r := kernstash.Request{CompileOptions: test.options, Constants: test.constants}
		if r.Image, err = kernstash.NewImageSet(units...); err != nil {
			t.Fatal(err)
		}
		p, err := x.Program(t.Context(), r)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if p.Origin() != test.origin {
			t.Errorf("%s: %v, want %v", test.name, p.Origin(), test.origin)
		}
		p.Release()
		if err := errors.Join(x.Close(), cache.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
