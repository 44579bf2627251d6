package kernstash

import (
	"testing"

	"github.com/kernstash/kernstash/key"
)

// The hot path allocates nothing.
func TestHitsDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Log("the race detector allocates by itself: counted in the build without it")
		return
	}
	c := openCache(t, "")
	x := fakeContextOn(c, newFake(t))
	r := Request{Image: image(t, src(1)), CompileOptions: "-DN=4", Constants: []key.SpecConstant{key.Uint32(1, 2)}, Attributes: []key.Pair{{Name: "a", Value: "b"}}}
	q, err := x.Prepare(r)
	if err != nil {
		t.Fatal(err)
	}
	k, err := x.Kernel(t.Context(), r, "k")
	if err != nil {
		t.Fatal(err)
	}
	defer k.Release()
	ctx := t.Context()
	for name, hit := range map[string]func(){
		"by fields": func() {
			p, err := x.Program(ctx, r)
			if err != nil {
				t.Fatal(err)
			}
			p.Release()
		},
		"prepared": func() {
			p, err := q.Program(ctx)
			if err != nil {
				t.Fatal(err)
			}
			p.Release()
		},
		"kernel": func() {
			k, err := x.Kernel(ctx, r, "k")
			if err != nil {
				t.Fatal(err)
			}
			k.Release()
		},
	} {
		if n := testing.AllocsPerRun(1000, hit); n != 0 {
			t.Errorf("%s: %v allocations a hit, want none", name, n)
		}
	}
}
