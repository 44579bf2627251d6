package live

import (
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"testing"
)

// tableID makes ids of which many share their hash.
func tableID(n int) (id ID) {
	binary.LittleEndian.PutUint64(id.What[:], uint64(n%7))
	binary.LittleEndian.PutUint64(id.What[8:], uint64(n+1))
	return id
}

func TestTableAgainstMap(t *testing.T) {
	t.Parallel()
	var tab table[int, int, int]
	model := make(map[ID]*Program[int, int, int])
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		id := tableID(random.IntN(200))
		switch p := model[id]; {
		case random.IntN(3) == 0 && p != nil:
			tab.remove(p, func() bool { return false })
			delete(model, id)
			tab.remove(p, nil) // again: nothing
		case random.IntN(3) == 0 && p != nil:
			tab.remove(&Program[int, int, int]{entry: entry{id: id}}, nil) // another one of that id
			tab.remove(p, func() bool { return true })
		default:
			got := tab.loadOrAdd(&id, func() *Program[int, int, int] { return &Program[int, int, int]{entry: entry{id: id}} })
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
	var tab table[int, int, int]
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 2))
			for range 5000 {
				id := tableID(random.IntN(100))
				p := tab.loadOrAdd(&id, func() *Program[int, int, int] { return &Program[int, int, int]{entry: entry{id: id}} })
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
