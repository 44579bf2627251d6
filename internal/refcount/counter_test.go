package refcount

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

func TestLastUserFrees(t *testing.T) {
	t.Parallel()
	c := New()
	if ok, _ := c.Acquire(); !ok {
		t.Fatal("Acquire of a live counter failed")
	}
	c.Retain()
	if c.Release() {
		t.Error("a live object was to be freed")
	}
	if c.Kill() {
		t.Error("freed under a user")
	}
	if ok, free := c.Acquire(); ok || free {
		t.Errorf("Acquire of a dead counter = %v, %v", ok, free)
	}
	if !c.Release() {
		t.Error("the last user was not told to free")
	}
	if c.Release() || c.Kill() || c.Seize() {
		t.Error("freed twice")
	}
}

func TestKillWithoutUsersAndSeize(t *testing.T) {
	t.Parallel()
	if c := New(); !c.Kill() {
		t.Error("nobody uses it, and nobody was told to free")
	}
	c := New()
	c.Acquire()
	if !c.Seize() {
		t.Error("Seize was not told to free")
	}
	if c.Release() {
		t.Error("freed twice")
	}
}

// Users pass the object on to others (Retain) and end in any order while it is
// killed: it is freed once, and never while somebody uses it.
func TestNeverFreedInUse(t *testing.T) {
	t.Parallel()
	for range 2000 {
		c := New()
		var users, frees atomic.Int64
		end := func() {
			users.Add(-1)
			if c.Release() {
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
					ok, free := c.Acquire()
					if free {
						frees.Add(1)
					}
					if !ok {
						return
					}
					users.Add(1)
					users.Add(1)
					c.Retain()
					passed := make(chan struct{})
					all.Go(func() { close(passed); runtime.Gosched(); end() })
					<-passed
					end()
				}
			})
		}
		all.Go(func() {
			runtime.Gosched()
			if c.Kill() {
				frees.Add(1)
			}
		})
		all.Wait()
		if frees.Load() != 1 {
			t.Fatalf("freed %d times", frees.Load())
		}
	}
}
