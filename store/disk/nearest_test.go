//go:build linux

package disk

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/storetest"
)

// TestNearest: a miss is explained by the one component that differs.
func TestNearest(t *testing.T) {
	t.Parallel()
	consts := func(c ...key.SpecConstant) key.Constants {
		out, err := key.NewConstants(c...)
		must(t, err)
		return out
	}
	image := func(code string, headers ...key.Header) *key.Image {
		img, err := key.NewImage(key.OpenCLC, []byte(code), headers...)
		must(t, err)
		return img
	}
	const code = "line one\nline two\nline three\nline four\n"
	base := key.Recipe{
		Device:    storetest.Device(),
		Image:     image(code, key.Header{Name: "a.h", Content: []byte("1")}, key.Header{Name: "b.h", Content: []byte("2")}),
		Constants: consts(key.Uint32(3, 1), key.Uint32(7, 8)),
		Options:   key.NewOptions("-O2 -DN=8", ""),
	}
	base.Device.Driver = "3.0"
	base.Options.Variables = []key.Pair{{Name: "IGC_X", Value: "0"}}
	base.Options.Attributes = []key.Pair{{Name: "expression", Value: "k<1>"}, {Name: "expression", Value: "k<2>"}}
	for name, test := range map[string]struct {
		change func(r *key.Recipe)
		want   reason.Reason
		text   string
	}{
		"option":     {func(r *key.Recipe) { r.Options.Compile = []string{"-O2", "-DN=4"} }, reason.NearestOptions, `option "-DN=4" was "-DN=8"`},
		"new option": {func(r *key.Recipe) { r.Options.Compile = []string{"-O2", "-g", "-DN=8"} }, reason.NearestOptions, `option "-g" is new`},
		"no options": {
			func(r *key.Recipe) { r.Options.Compile, r.Options.Absent = nil, true }, reason.NearestOptions,
			`option "-O2" is gone; option "-DN=8" is gone; no options (NULL), where there was an empty string`,
		},
		"variable": {func(r *key.Recipe) { r.Options.Variables = []key.Pair{{Name: "IGC_X", Value: "1"}} }, reason.NearestVariable, `variable IGC_X="1" was "0"`},
		"attribute": {func(r *key.Recipe) {
			r.Options.Attributes = []key.Pair{{Name: "expression", Value: "k<1>"}, {Name: "expression", Value: "k<3>"}, {Name: "name", Value: "a"}}
		}, reason.NearestOptions, `attribute expression="k<3>" was "k<2>"; attribute name="a" is new`},
		"order of attributes": {func(r *key.Recipe) {
			r.Options.Attributes = []key.Pair{{Name: "expression", Value: "k<2>"}, {Name: "expression", Value: "k<1>"}}
		}, reason.NearestOptions, `attributes of one name in another order`},
		"constant": {func(r *key.Recipe) { r.Constants = consts(key.Uint32(3, 1), key.Uint32(7, 16)) }, reason.NearestConstants, `constant 7: 0x10 was 0x08`},
		"constants": {
			func(r *key.Recipe) { r.Constants = consts(key.Uint32(4, 0x1234)) }, reason.NearestConstants,
			`constant 3: 0x01 is gone; constant 4: 0x1234 is new; constant 7: 0x08 is gone`,
		},
		"driver": {func(r *key.Recipe) { r.Device.Driver = "3.1" }, reason.NearestDriver, `driver "3.1" was "3.0"`},
		"compiler": {func(r *key.Recipe) {
			r.Device.Compiler = []key.Pair{{Name: "libtest", Value: "build-id-2"}}
		}, reason.NearestCompiler, `compiler libtest="build-id-2" was "build-id-1"`},
		"device": {func(r *key.Recipe) { r.Device.Name = "Other" }, reason.NearestDevice, `device "Other" was "Test Device"`},
		"header": {func(r *key.Recipe) {
			r.Image = image(code, key.Header{Name: "a.h", Content: []byte("1")}, key.Header{Name: "b.h", Content: []byte("3")})
		}, reason.NearestHeader, `header "b.h" differs`},
		"code": {func(r *key.Recipe) {
			r.Image = image(strings.Replace(code, "three", "3", 1), base.Image.Units()[0].Headers...)
		}, reason.NearestImage, `code differs from line 3 on`},
		"other code":     {func(r *key.Recipe) { r.Image = image("something else\n") }, reason.NearestNothing, "nothing near it"},
		"two components": {func(r *key.Recipe) { r.Device.Driver, r.Options.Compile = "3.1", nil }, reason.NearestNothing, "nothing near it"},
		"other API":      {func(r *key.Recipe) { r.Device.API = "cuda" }, reason.NearestNothing, "nothing near it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			if d, err := s.Nearest(bg, &base, key.Digest{}); err != nil || d.Reason != reason.NearestNothing {
				t.Errorf("no root: %+v, %v", d, err)
			}
			there := base
			put(t, s, storetest.Entry(&there, "e", 100), store.Stored)
			r := base
			test.change(&r)
			d, err := s.Nearest(bg, &r, key.Digest{})
			must(t, err)
			if d.Reason != test.want || d.Text != test.text {
				t.Errorf("%v: %s\nwant %v: %s", d.Reason, d.Text, test.want, test.text)
			}
			if (d.Key == base.Key()) != (test.want != reason.NearestNothing) {
				t.Errorf("key %s", d.Key.Short())
			}
		})
	}
}

// TestNearestIsBounded: it explains a miss and must not cost like a build.
func TestNearestIsBounded(t *testing.T) {
	t.Parallel()
	s := open(t)
	e := storetest.New(t, "e", 100)
	for i := range 3 * maxNearRead {
		r := *e.Recipe
		r.Options = key.NewOptions("-DOTHER="+strings.Repeat("x", i), "")
		r.Constants = nil
		put(t, s, storetest.Entry(&r, "x", 100), store.Stored)
	}
	d, err := s.Nearest(bg, e.Recipe, key.Digest{})
	if err != nil || d.Reason != reason.NearestOptions {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestCostNear: what the same build took for other devices, and nothing that is not that.
func TestCostNear(t *testing.T) {
	t.Parallel()
	s := open(t)
	e := storetest.New(t, "image", 10)
	put := func(seed, driver string, cost time.Duration) key.Key {
		t.Helper()
		e := storetest.New(t, seed, 10)
		e.Recipe.Device.Driver = driver
		e.Key, e.Artifact.Cost = e.Recipe.Key(), cost
		_, err := s.Put(t.Context(), e)
		must(t, err)
		return e.Key
	}
	want := func(cost time.Duration) {
		t.Helper()
		if got := s.CostNear(t.Context(), e.Key); got != cost {
			t.Errorf("got %v, want %v", got, cost)
		}
	}
	want(0)
	put("image", e.Recipe.Device.Driver, time.Hour) // it is no other one
	put("another image", "1", time.Hour)
	want(0)
	put("image", "1", time.Second)
	want(time.Second)
	most := put("image", "2", 3*time.Second)
	put("image", "3", 2*time.Second)
	want(3 * time.Second)
	must(t, s.Delete(t.Context(), most))
	want(2 * time.Second)
	// What lies in the place of another counts for nothing.
	b, err := os.ReadFile(binPath(s, put("another image", "4", time.Hour)))
	must(t, err)
	must(t, os.WriteFile(binPath(s, put("image", "4", time.Millisecond)), b, 0o600))
	want(2 * time.Second)
}
