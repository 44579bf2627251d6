package engine

import (
	"testing"

	"github.com/kernstash/kernstash/key"
)

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	img := source(t, k1)
	h := newHost(t)
	h.devices = append(h.devices, h.devices[0], h.devices[0])
	s := start(t, "", "on").session(h)
	long := string(make([]byte, 5000))
	seen := make(map[ID]int)
	for i, r := range []Request{
		{Image: img},
		{Image: img, CompileOptions: "a"},
		{Image: img, LinkOptions: "a"},
		{Image: img, Attributes: []key.Pair{{Name: "a"}}},
		{Image: img, Attributes: []key.Pair{{Name: "a", Value: "b"}}},
		{Image: img, Attributes: []key.Pair{{Name: "a", Value: "c"}, {Name: "a", Value: "b"}}},
		{Image: img, Attributes: []key.Pair{{Name: "a", Value: "b"}, {Name: "a", Value: "c"}}},
		{Image: img, ImageCompileOptions: "a"},
		{Image: img, CompileOptions: long},
		{Image: img, CompileOptions: long + "x"},
		{Image: img, Devices: []int{1}},
		{Image: img, Constants: []key.SpecConstant{{ID: 1}}},
		{Image: source(t, "kernel void k2() {}")},
	} {
		id, err := s.ID(&r)
		if err != nil {
			t.Fatal(err)
		}
		if before, twice := seen[id]; twice {
			t.Errorf("requests %d and %d have one id", before, i)
		}
		seen[id] = i
		if again, _ := s.ID(&r); again != id {
			t.Errorf("request %d has two ids", i)
		}
	}
	sorted, _ := s.ID(&Request{Image: img, Attributes: []key.Pair{{Name: "a"}, {Name: "b"}}})
	if id, _ := s.ID(&Request{Image: img, Attributes: []key.Pair{{Name: "b"}, {Name: "a"}}}); id != sorted {
		t.Error("another order of attributes makes another id")
	}
	id, _ := s.ID(&Request{Image: img})
	if a, b := id.Exclusive(img), id.Exclusive(source(t, k1)); a == id || a == b || a.Devices != id.Devices {
		t.Error("private ids are not an image's own")
	}
	all, _ := s.ID(&Request{Image: img})
	named, _ := s.ID(&Request{Image: img, Devices: []int{2, 0, 1, 0}})
	if all != named {
		t.Error("no devices and all devices differ")
	}
}
