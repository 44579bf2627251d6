package live

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// TestDiagnosticBesidePanic: a program that one device's compiler refuses and
// another's panics on has not failed for good, so nothing of the attempt stays
// behind to be evicted under the next one.
func TestDiagnosticBesidePanic(t *testing.T) {
	t.Parallel()
	f, x := newFake(t, Options{MaxPrograms: 10})
	again := false
	r := &request{f: f, id: number(1, 3), asker: 1, make: func(_ context.Context, u *fakeUnit) error {
		switch {
		case again:
			return nil
		case u.devices[0] == 0:
			return errFinal
		}
		panic("driver")
	}}
	if _, err := r.get(x); err == nil {
		t.Fatal("no error")
	}
	wantEmpty(t, x)
	again = true
	r.use(x)
	end(x)
	f.wantLive(0, 0)
	wantEmpty(t, x)
}

// Programs for several devices share the parts that agree; each answers for its own
// devices.
func TestProgramsShareParts(t *testing.T) {
	t.Parallel()
	f, x := newFake(t, Options{MaxPrograms: 10})
	all := &request{f: f, id: number(1, 0b1011), asker: 1}
	p, err := all.get(x)
	if err != nil {
		t.Fatal(err)
	}
	two := &request{f: f, id: number(1, 0b1010), asker: 2}
	q, err := two.get(x)
	if err != nil {
		t.Fatal(err)
	}
	if all.makes != 3 || two.makes != 0 {
		t.Errorf("%d and %d parts made, want 3 and none", all.makes, two.makes)
	}
	if p.First() != 0 || q.First() != 1 || !slices.Equal(p.Units()[1:], q.Units()) {
		t.Errorf("first devices %d and %d, parts %v and %v", p.First(), q.First(), p.Units(), q.Units())
	}
	for d := -1; d < 6; d++ {
		native, err := q.Native(d)
		if has := d == 1 || d == 3; has != (err == nil) || !has && !errors.Is(err, ErrDevice) {
			t.Errorf("device %d: %v, %v", d, native, err)
		}
	}
	p.Release()
	x.Clear()
	f.wantLive(2, 0) // q's
	q.Release()
	f.wantLive(0, 0)
	if len(f.unused) != 3 {
		t.Errorf("%d units were said to be unused, want 3", len(f.unused))
	}
}
