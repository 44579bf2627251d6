package tool

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/store"
)

func TestReady(t *testing.T) {
	t.Parallel()
	a := &store.Artifact{
		Kernels: []store.Kernel{{Name: "any"}, {Name: "fixed", Attributes: "reqd_work_group_size(8,8,1)"}},
		Variants: []string{
			"any/16-16-1-goffs0-smallgrid", "any/64-1-1", "fixed/8-8-1-goffs0-smallgrid",
		},
	}
	for _, tt := range []struct {
		sizes [][3]int
		want  bool
	}{
		{[][3]int{{64, 1, 1}}, true},
		{[][3]int{{16, 16, 1}}, true},
		{[][3]int{{64, 1, 1}, {16, 16, 1}}, true},
		{[][3]int{{6, 1, 1}}, false},
		{[][3]int{{8, 8, 1}}, false},
	} {
		if got := ready(a, tt.sizes); got != tt.want {
			t.Errorf("ready for %v: %v", tt.sizes, got)
		}
	}
	want := [][3]int{{6, 1, 1}, {16, 16, 1}, {64, 1, 1}, {8, 8, 1}}
	if diff := cmp.Diff(want, union(a, [][3]int{{6, 1, 1}})); diff != "" {
		t.Errorf("union (-want +got):\n%s", diff)
	}
}
