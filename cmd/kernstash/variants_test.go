package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/store"
)

func TestVariants(t *testing.T) {
	t.Parallel()
	a := &store.Artifact{
		Kernels:  []store.Kernel{{Name: "f"}, {Name: "g"}},
		Variants: []string{"f/16-1-1-goffs0", "f/auto-1024-1-1-goffs0", "f/64-1-1-goffs0-smallgrid", "g/64-1-1"},
	}
	for _, tt := range []struct {
		sizes [][3]int
		want  bool
	}{
		{nil, true},
		{[][3]int{{64, 1, 1}}, true},
		{[][3]int{{16, 1, 1}}, false}, // of one kernel only
		{[][3]int{{6, 1, 1}}, false},
		{[][3]int{{64, 1, 1}, {8, 8, 1}}, false},
	} {
		if got := ready(a, tt.sizes); got != tt.want {
			t.Errorf("%v: %v", tt.sizes, got)
		}
	}
	want := [][3]int{{8, 8, 1}, {16, 1, 1}, {64, 1, 1}}
	if diff := cmp.Diff(want, union(a, [][3]int{{8, 8, 1}})); diff != "" {
		t.Errorf("union (-want +got):\n%s", diff)
	}
}
