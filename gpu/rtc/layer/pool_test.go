package layer

import "testing"

// A process that loads and unloads libraries again and again is served for each: the oldest
// is forgotten.
func TestOldestPoolGoes(t *testing.T) {
	t.Parallel()
	var p pools
	var all []*pool
	for i := range maxPools + 2 {
		own := new(pool)
		all = append(all, own)
		p.add(poolID{compile: uintptr(i + 1)}, own)
	}
	if len(p.all) != maxPools || len(p.order) != maxPools {
		t.Errorf("%d are kept, in a list of %d", len(p.all), len(p.order))
	}
	for i, own := range all {
		if kept := p.all[poolID{compile: uintptr(i + 1)}] == own; kept != (i >= 2) {
			t.Errorf("library %d is kept: %v", i, kept)
		}
	}
}
