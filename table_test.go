package kernstash

import (
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/kernstash/kernstash/key"
)

// tableID makes ids of which many share their hash.
func tableID(n int) (id programID) {
	binary.LittleEndian.PutUint64(id.what[:], uint64(n%7))
	binary.LittleEndian.PutUint64(id.what[8:], uint64(n+1))
	return id
}

func TestTableAgainstMap(t *testing.T) {
	t.Parallel()
	var tab table[int, int]
	model := make(map[programID]*Program[int, int])
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		id := tableID(random.IntN(200))
		switch p := model[id]; {
		case random.IntN(3) == 0 && p != nil:
			tab.remove(p, func() bool { return false })
			delete(model, id)
			tab.remove(p, nil) // again: nothing
		case random.IntN(3) == 0 && p != nil:
			tab.remove(&Program[int, int]{id: id}, nil) // another one of that id
			tab.remove(p, func() bool { return true })
		default:
			got := tab.loadOrAdd(&id, func() *Program[int, int] { return &Program[int, int]{id: id} })
			if p != nil && got != p {
				t.Fatal("another program than was added")
			}
			model[id] = got
		}
		if got := tab.load(&id); got != model[id] {
			t.Fatalf("load = %p, want %p", got, model[id])
		}
	}
	if n := len(*tab.slots.Load()); n > 4096 {
		t.Errorf("%d slots for at most 200 programs", n)
	}
}

func TestTableConcurrently(t *testing.T) {
	t.Parallel()
	var tab table[int, int]
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 2))
			for range 5000 {
				id := tableID(random.IntN(100))
				p := tab.loadOrAdd(&id, func() *Program[int, int] { return &Program[int, int]{id: id} })
				if p.id != id {
					t.Error("wrong program")
				}
				if q := tab.load(&id); q != nil && q.id != id {
					t.Error("wrong program")
				}
				if random.IntN(2) == 0 {
					tab.remove(p, nil)
				}
			}
		})
	}
	all.Wait()
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	img := image(t, src(1))
	long := string(make([]byte, 5000))
	seen := make(map[programID]int)
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
	if a, b := id.private(1), id.private(2); a == id || a == b || a.devices != id.devices {
		t.Error("private ids are not an image's own")
	}
	all, _ := (&Request{Image: img}).id(3)
	named, _ := (&Request{Image: img, Devices: []int{2, 0, 1, 0}}).id(3)
	if all != named {
		t.Error("no devices and all devices differ")
	}
}
