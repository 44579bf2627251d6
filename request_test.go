package kernstash

import (
	"testing"

	"github.com/kernstash/kernstash/internal/live"
	"github.com/kernstash/kernstash/key"
)

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	img := image(t, src(1))
	long := string(make([]byte, 5000))
	seen := make(map[live.ID]int)
	for i, r := range []Request{
		{Image: img},
		{Image: img, CompileOptions: "a"},
		{Image: img, LinkOptions: "a"},
		{Image: img, Attributes: []key.Pair{{Name: "a"}}},
		{Image: img, Attributes: []key.Pair{{Name: "a", Value: "b"}}},
		{Image: img, Attributes: []key.Pair{{Name: "a", Value: "c"}, {Name: "a", Value: "b"}}},
		{Image: img, Attributes: []key.Pair{{Name: "a", Value: "b"}, {Name: "a", Value: "c"}}},
		{Image: &Image{Image: img.Image, CompileOptions: "a"}},
		{Image: img, CompileOptions: long},
		{Image: img, CompileOptions: long + "x"},
		{Image: img, Devices: []int{1}},
		{Image: img, Constants: []key.SpecConstant{{ID: 1}}},
		{Image: image(t, src(2))},
	} {
		id, err := r.id(3)
		if err != nil {
			t.Fatal(err)
		}
		if before, twice := seen[id]; twice {
			t.Errorf("requests %d and %d have one id", before, i)
		}
		seen[id] = i
		if again, _ := r.id(3); again != id {
			t.Errorf("request %d has two ids", i)
		}
	}
	sorted, _ := (&Request{Image: img, Attributes: []key.Pair{{Name: "a"}, {Name: "b"}}}).id(3)
	if id, _ := (&Request{Image: img, Attributes: []key.Pair{{Name: "b"}, {Name: "a"}}}).id(3); id != sorted {
		t.Error("another order of attributes makes another id")
	}
	id, _ := (&Request{Image: img}).id(3)
	if a, b := private(id, 1), private(id, 2); a == id || a == b || a.Devices != id.Devices {
		t.Error("private ids are not an image's own")
	}
	all, _ := (&Request{Image: img}).id(3)
	named, _ := (&Request{Image: img, Devices: []int{2, 0, 1, 0}}).id(3)
	if all != named {
		t.Error("no devices and all devices differ")
	}
}
