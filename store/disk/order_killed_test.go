//go:build linux

package disk

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/beneath"
	"github.com/kernstash/kernstash/store/storetest"
)

func init() { roles["order"] = roleOrder }

const orderLimit = 40 * each

// orderOptions are of a store that has an order though it is small.
func orderOptions(o Options) Options {
	o.MaxSize, o.Policy, o.hooks.order = orderLimit, LRU, 4
	return o
}

// roleOrder evicts by the order, appends to it, makes ready and forgoes, and kills itself
// before the system call of a number; 0: it says how many there are.
func roleOrder(s *Store, dies int) error {
	var calls atomic.Int64
	o := orderOptions(s.o)
	o.hooks.beneath.Hook = &beneath.Hook{Before: func(_ beneath.Op, size int) (int, error) {
		if calls.Add(1) == int64(dies) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			time.Sleep(time.Hour)
		}
		return size, nil
	}}
	limited := New(o)
	defer limited.Close()
	for i := range 6 {
		_, _ = limited.Put(bg, storetest.New(noTest{}, fmt.Sprintf("%d.%d", dies, i), 100)) // some are dropped
		settled(limited)
		e := storetest.New(noTest{}, fmt.Sprintf("%d.ready.%d", dies, i), 100)
		limited.Ready(bg, e.Recipe, true)
		limited.Forgo(bg, e.Recipe)
	}
	fmt.Println(calls.Load())
	return nil
}

// TestKilledByTheOrder: a process is killed at its system calls, at each of them in the
// long form, while it evicts by the order. Entries are good, the next one evicts, a count
// makes the account right, and nothing is left behind.
func TestKilledByTheOrder(t *testing.T) {
	t.Parallel()
	step, lanes := 29, 3
	if os.Getenv("KERNSTASH_TEST_LONG") != "" {
		step = lanes
	}
	var kills atomic.Int64
	var all sync.WaitGroup
	for lane := range lanes {
		all.Go(func() {
			s := New(orderOptions(Options{Dir: t.TempDir() + "/root"}))
			defer s.Close()
			fillOrder(t, s, "first")
			if !exists(orderPath(s)) {
				t.Error("there is no order")
				return
			}
			for n := 1 + lane*step/lanes; orderChild(t, s, n, &kills); n += step {
				if r, err := s.Verify(bg, false, nil); err != nil || len(r.Problems) > 0 {
					t.Errorf("killed at call %d: %v, %v", n, err, r.Problems)
				}
				fillOrder(t, s, fmt.Sprint("after", n))
			}
			orderEnds(t, s)
		})
	}
	all.Wait()
	t.Logf("%d processes killed", kills.Load())
	if kills.Load() < 20 {
		t.Errorf("only %d processes were killed", kills.Load())
	}
}

// orderChild has a process die at a call; false: it came to its end before.
func orderChild(t *testing.T, s *Store, n int, kills *atomic.Int64) bool {
	c := child(t, "order", s.o.Dir, n)
	out, err := c.Output()
	if err == nil {
		if calls, err := strconv.Atoi(strings.TrimSpace(string(out))); err != nil || calls >= n {
			t.Errorf("it was not killed at call %d: %q, %v", n, out, err)
		}
		return false
	}
	exit, ok := err.(*exec.ExitError)
	if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("at call %d: %v", n, err)
		return false
	}
	kills.Add(1)
	return true
}

// fillOrder puts until the limit was passed, so that somebody evicts.
func fillOrder(t *testing.T, s *Store, name string) {
	for i := range 45 {
		if i > 8 && name != "first" {
			break
		}
		for try := 0; ; try++ {
			if _, err := s.Put(bg, storetest.New(t, fmt.Sprint(name, ".", i), 100)); err == nil {
				break
			}
			if try == 1000 {
				t.Errorf("%s: nothing can be put any more: %+v", name, s.Status())
				return
			}
			settled(s)
			time.Sleep(fullPause)
		}
		settled(s)
	}
}

// orderEnds looks at what is left in the end.
func orderEnds(t *testing.T, s *Store) {
	o := s.o
	o.Now = func() time.Time { return time.Now().Add(2 * time.Hour) } // what was left behind is old
	later := New(o)
	defer later.Close()
	if _, err := later.GC(bg, GCOptions{}, nil); err != nil {
		t.Error(err)
	}
	st, tree := later.Status(), storetest.Look(t, s.o.Dir)
	if !st.Counted || st.Entries != tree.Entries || st.Bytes != tree.Bytes || st.Bytes > orderLimit || tree.Entries == 0 {
		t.Errorf("after gc: %+v; there are %d entries, %d bytes", st, tree.Entries, tree.Bytes)
	}
	if len(tree.Strange) > 0 {
		t.Errorf("left behind: %q", tree.Strange)
	}
}
