//go:build linux

package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/evict"
	"github.com/kernstash/kernstash/store/storetest"
)

func init() { roles["trim"] = roleTrim }

// nowVar has the nanoseconds since 1970 at which the clock of a child begins.
const nowVar = "KERNSTASH_TEST_NOW"

// ticking is a clock that goes on by a microsecond whenever it is asked: a count is no
// older for the last process that finds a copy of a root than for the first.
func ticking(from time.Time) func() time.Time {
	var asked atomic.Int64
	return func() time.Time { return from.Add(time.Duration(asked.Add(1)) * time.Microsecond) }
}

const trimLimit = 16 * each

// trimOptions are of a store that is trimmed in groups though it is small.
func trimOptions(o Options) Options {
	o.MaxSize, o.Policy, o.hooks.bounds = trimLimit, LRU, evict.Bounds{Exact: 4, Group: 4}
	return o
}

// roleTrim puts and evicts, prepares and aborts, and kills itself before the system
// call of a number; 0: it says how many there are.
func roleTrim(s *Store, dies int) error {
	var calls atomic.Int64
	o := trimOptions(s.o)
	if from := os.Getenv(nowVar); from != "" {
		ns, err := strconv.ParseInt(from, 10, 64)
		if err != nil {
			return err
		}
		o.Now = ticking(time.Unix(0, ns))
	}
	o.hooks.Beneath.Hook = &safefs.Hook{Before: func(_ safefs.Op, size int) (int, error) {
		if calls.Add(1) == int64(dies) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			time.Sleep(time.Hour)
		}
		return size, nil
	}}
	limited := New(o)
	defer limited.Close()
	for i := range 3 {
		_, _ = limited.Put(bg, storetest.New(noTest{}, fmt.Sprint("child.", i), 100)) // some are dropped
		settled(limited)
	}
	fmt.Println(calls.Load())
	return nil
}

// trimStates make what a process finds that is about to evict.
var trimStates = map[string]func(t *testing.T, s *Store){
	trimmed: nextEvicts,
	"the account is lost": func(t *testing.T, s *Store) {
		nextEvicts(t, s)
		must(t, os.Remove(filepath.Join(s.o.Dir, ".meta/account")))
	},
	"the limit is passed": func(t *testing.T, s *Store) {
		nextEvicts(t, s)
		leaveUntilFull(t, s)
	},
	full: func(t *testing.T, s *Store) {
		fillRoot(t, s, "few", 3)
		leaveUntilFull(t, s)
	},
}

// trimmed is the state of a root that the next put trims.
const trimmed = "the next put trims"

// full is the state of a root without room for an hour: a recipe without an entry may be
// one that is being written.
const full = "full of recipes"

func leaveUntilFull(t *testing.T, s *Store) {
	for i := 0; s.Status().Bytes <= trimLimit; i++ {
		leaveRecipe(t, s, storetest.New(t, fmt.Sprint("left.", i), 100).Recipe)
	}
}

// nextEvicts puts until the next put evicts.
func nextEvicts(t *testing.T, s *Store) {
	fillRoot(t, s, "first", 20)
	topUp(t, s, "top")
}

// TestKilledTrims: a process is killed at its system calls, at each of them in the
// long form, while it evicts, or counts first. Each
// begins with a copy of the same root. Entries are good, the next one evicts, a count
// makes the account right, and nothing is left behind.
func TestKilledTrims(t *testing.T) {
	t.Parallel()
	step, lanes := 97, 3
	if os.Getenv("KERNSTASH_TEST_LONG") != "" {
		step = lanes
	}
	for state := range trimStates {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			prepared := trimRoot(t, state, ticking(start))
			var kills atomic.Int64
			var all sync.WaitGroup
			for lane := range lanes {
				dir := filepath.Join(t.TempDir(), "root")
				all.Go(func() {
					for n := 1 + lane*step/lanes; trimKill(t, prepared, dir, state, start.Add(time.Second), n); n += step {
						kills.Add(1)
					}
				})
			}
			all.Wait()
			t.Logf("%d processes killed", kills.Load())
			if kills.Load() < 10 {
				t.Errorf("only %d processes were killed", kills.Load())
			}
		})
	}
}

// trimRoot makes a root in a state.
func trimRoot(t *testing.T, state string, now func() time.Time) (dir string) {
	t.Helper()
	s := New(trimOptions(Options{Dir: filepath.Join(t.TempDir(), "root"), Now: now}))
	defer s.Close()
	trimStates[state](t, s)
	return s.o.Dir
}

// topUp puts until the next put evicts.
func topUp(t *testing.T, s *Store, name string) {
	const from = trimLimit / 8 * 7 // of so many bytes on, what is ranked in groups is trimmed
	for i := 0; s.Status().Bytes+each <= from; i++ {
		fillRoot(t, s, fmt.Sprint(name, ".", i), 1)
	}
}

// trimKill has a process die in a copy of a root, and looks at what it leaves. false:
// the process came to its end before.
func trimKill(t *testing.T, prepared, dir, state string, now time.Time, n int) bool {
	if err := errors.Join(os.RemoveAll(dir), copyRoot(dir, prepared)); err != nil {
		t.Error(err)
		return false
	}
	if !trimChild(t, dir, n, fmt.Sprint(nowVar, "=", now.UnixNano())) {
		return false
	}
	s := New(trimOptions(Options{Dir: dir, Now: ticking(now.Add(time.Second))}))
	defer s.Close()
	trimIsGood(t, s, n)
	if state == full {
		s = laterThan(s)
		defer s.Close()
	}
	fillRoot(t, s, "after", 6)
	trimEnds(t, s)
	return !t.Failed()
}

// TestKilledTrimsAgain: what processes leave that are killed one after another in
// one root is no other than what one leaves.
func TestKilledTrimsAgain(t *testing.T) {
	t.Parallel()
	s := New(trimOptions(Options{Dir: trimRoot(t, trimmed, time.Now)}))
	defer s.Close()
	kills := 0
	for n := 1; trimChild(t, s.o.Dir, n); n += 11 {
		kills++
		trimIsGood(t, s, n)
		fillRoot(t, s, fmt.Sprint("after", n), 6)
		topUp(t, s, fmt.Sprint("top", n))
	}
	trimEnds(t, s)
	if t.Logf("%d processes killed", kills); kills < 10 {
		t.Errorf("only %d processes were killed", kills)
	}
}

// trimIsGood looks at entries after a process was killed.
func trimIsGood(t *testing.T, s *Store, n int) {
	if r, err := s.Verify(bg, false, nil); err != nil || len(r.Problems) > 0 {
		t.Errorf("killed at call %d: %v, %v", n, err, r.Problems)
	}
}

// trimChild has a process die at a call; false: it came to its end before.
func trimChild(t *testing.T, dir string, n int, env ...string) bool {
	c := child(t, "trim", dir, n)
	c.Env = append(c.Env, env...)
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
	return true
}

// fillRoot puts so many; who passes the limit evicts.
func fillRoot(t *testing.T, s *Store, name string, n int) {
	for i := range n {
		for try := 0; ; try++ {
			res, err := s.Put(bg, storetest.New(t, fmt.Sprint(name, ".", i), 100))
			if err == nil && res == store.Stored {
				break
			}
			if try == 1000 {
				t.Errorf("%s: nothing can be put any more: %d, %v, %+v", name, res, err, s.Status())
				return
			}
			settled(s)
			time.Sleep(2 * time.Millisecond)
		}
		settled(s)
	}
}

// laterThan returns a store of the same root for which all that killed processes left is
// old.
func laterThan(s *Store) *Store {
	o := s.o
	o.Now = func() time.Time { return s.o.Now().Add(2 * time.Hour) }
	return New(o)
}

// trimEnds looks at what is left in the end.
func trimEnds(t *testing.T, s *Store) {
	s = laterThan(s)
	defer s.Close()
	if _, err := s.GC(bg, GCOptions{}, nil); err != nil {
		t.Error(err)
	}
	st, tree := s.Status(), storetest.Look(t, s.o.Dir)
	if !st.Counted || st.Entries != tree.Entries || st.Bytes != tree.Bytes || st.Bytes > trimLimit || tree.Entries == 0 {
		t.Errorf("after gc: %+v; there are %d entries, %d bytes", st, tree.Entries, tree.Bytes)
	}
	if len(tree.Strange) > 0 {
		t.Errorf("left behind: %q", tree.Strange)
	}
}

// copyRoot copies a root, with the times of its files.
func copyRoot(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		there := filepath.Join(to, rel)
		if d.IsDir() {
			return os.Mkdir(there, info.Mode().Perm())
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return errors.Join(os.WriteFile(there, b, info.Mode().Perm()), os.Chtimes(there, info.ModTime(), info.ModTime()))
	})
}
