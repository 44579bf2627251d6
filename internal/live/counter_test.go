package live

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// last takes a user away and reports whether the caller must free the object.
func last(c *counter) bool { return c.release() && c.end() }

func TestLastUserFrees(t *testing.T) {
	t.Parallel()
	c := new(counters).add()
	if _, ok := c.acquire(); !ok {
		t.Fatal("a live counter refuses users")
	}
	c.retain()
	if last(&c) {
		t.Error("a live object was to be freed")
	}
	if c.kill() {
		t.Error("freed under a user")
	}
	if s, ok := c.acquire(); ok {
		t.Error("a dead counter lets users in")
	} else if c.refuse(s) {
		t.Error("freed under a user by one who was refused")
	}
	if !last(&c) {
		t.Error("the last user was not told to free")
	}
	if last(&c) || c.kill() || c.seize() {
		t.Error("freed twice")
	}
}

func TestKillWithoutUsersAndSeize(t *testing.T) {
	t.Parallel()
	if c := new(counters).add(); !c.kill() {
		t.Error("nobody uses it, and nobody was told to free")
	}
	c := new(counters).add()
	c.acquire()
	if !c.seize() {
		t.Error("Seize was not told to free")
	}
	if last(&c) {
		t.Error("freed twice")
	}
}

// Users pass the object on to others (retain) and end in any order while it is
// killed: it is freed once, and never while somebody uses it.
func TestNeverFreedInUse(t *testing.T) {
	t.Parallel()
	for range 2000 {
		c := new(counters).add()
		var users, frees atomic.Int64
		end := func() {
			users.Add(-1)
			if last(&c) {
				frees.Add(1)
				if n := users.Load(); n != 0 {
					t.Errorf("freed with %d users", n)
				}
			}
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 8 {
					if s, ok := c.acquire(); !ok {
						if c.refuse(s) {
							frees.Add(1)
						}
						return
					}
					users.Add(1)
					users.Add(1)
					c.retain()
					passed := make(chan struct{})
					all.Go(func() { close(passed); runtime.Gosched(); end() })
					<-passed
					end()
				}
			})
		}
		all.Go(func() {
			runtime.Gosched()
			if c.kill() {
				frees.Add(1)
			}
		})
		all.Wait()
		if frees.Load() != 1 {
			t.Fatalf("freed %d times", frees.Load())
		}
	}
}
