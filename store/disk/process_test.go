package disk

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/storetest"
)

// roleVar makes the test binary play one of the roles instead of testing.
const roleVar = "KERNSTASH_TEST_ROLE"

// roles are what child processes do with a root; dir is it, arg a number.
var roles = map[string]func(s *Store, arg int) error{
	"putget":  rolePutGet,
	"collide": rolePutGet,
	"forever": rolePutForever,
	"hold":    roleHold,
	"stats":   roleStats,
}

func TestMain(m *testing.M) {
	role := os.Getenv(roleVar)
	if role == "" {
		os.Exit(m.Run())
	}
	play, known := roles[role]
	if !known {
		os.Exit(m.Run()) // a test that was started again as another user
	}
	o := Options{Dir: os.Args[1]}
	if role == "collide" {
		o.hooks.Collide = collide
	}
	arg, err := strconv.Atoi(os.Args[2])
	if err == nil {
		s := New(o)
		err = errors.Join(play(s, arg), s.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, role, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// child starts a process in a role.
func child(t *testing.T, role, dir string, arg int) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0], dir, strconv.Itoa(arg))
	// Else each sleeps a second at its end under the race detector.
	c.Env = append(os.Environ(), roleVar+"="+role, "GORACE=atexit_sleep_ms=0")
	c.Stderr = os.Stderr
	return c
}

// noTest makes entries in a process that does not test.
type noTest struct{ testing.TB }

func (noTest) Helper()           {}
func (noTest) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// hotSeeds are the entries that all children put.
const hotSeeds = 3

func rolePutGet(s *Store, arg int) error {
	for i := range hotSeeds * 4 {
		seed := fmt.Sprintf("hot%d", (i+arg)%hotSeeds)
		e := storetest.New(noTest{}, seed, 30_000)
		if _, err := s.Put(bg, e); err != nil {
			return err
		}
		got, err := s.Get(bg, e.Key)
		if err != nil {
			return err
		}
		if string(got.Artifact.Binaries[0].Data) != string(e.Artifact.Binaries[0].Data) {
			return errors.New("other code")
		}
	}
	return nil
}

func rolePutForever(s *Store, arg int) error {
	fmt.Println("started")
	for i := 0; ; i++ {
		e := storetest.New(noTest{}, fmt.Sprintf("%d.%d", arg, i%50), 20_000+i%7)
		unlock, err := s.Lock(bg, e.Key, time.Minute)
		if err != nil {
			return err
		}
		if _, err := s.Put(bg, e); err != nil {
			return err
		}
		if i%3 == 0 {
			if err := s.Delete(bg, e.Key); err != nil {
				return err
			}
		}
		unlock()
	}
}

func roleHold(s *Store, arg int) error {
	if _, err := s.Lock(bg, storetest.New(noTest{}, "held", 1).Key, 0); err != nil {
		return err
	}
	fmt.Println("held")
	time.Sleep(time.Hour)
	return nil
}

func roleStats(s *Store, arg int) error {
	for range 50 {
		if err := s.AddStats(oneHit()); err != nil {
			return err
		}
	}
	return nil
}

func runAll(t *testing.T, children []*exec.Cmd) {
	t.Helper()
	var wg sync.WaitGroup
	for _, c := range children {
		must(t, c.Start())
		wg.Go(func() {
			if err := c.Wait(); err != nil {
				t.Errorf("child: %v", err)
			}
		})
	}
	wg.Wait()
}

// TestProcessesShareOneKey: 16 processes put and get the same entries at once.
func TestProcessesShareOneKey(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"putget", "collide"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			s := open(t, func(o *Options) {
				if role == "collide" {
					o.hooks.Collide = collide
				}
			})
			var children []*exec.Cmd
			for i := range 16 {
				children = append(children, child(t, role, s.o.Dir, i))
			}
			runAll(t, children)
			r := wantClean(t, s)
			if r.Entries != hotSeeds {
				t.Errorf("%d entries, want %d", r.Entries, hotSeeds)
			}
			if st := s.Status(); st.Entries != r.Entries || st.Bytes != r.Bytes {
				t.Errorf("account: %d entries, %d bytes; there are %d and %d", st.Entries, st.Bytes, r.Entries, r.Bytes)
			}
		})
	}
}

// TestKilledWriters: whenever a process dies, what it leaves is clean, and its
// locks are gone.
func TestKilledWriters(t *testing.T) {
	t.Parallel()
	s := open(t)
	rounds := 4
	if os.Getenv("KERNSTASH_TEST_LONG") != "" {
		rounds = 100
	}
	for round := range rounds {
		var children []*exec.Cmd
		for i := range 3 {
			c := child(t, "forever", s.o.Dir, i)
			out, err := c.StdoutPipe()
			must(t, err)
			must(t, c.Start())
			if !bufio.NewScanner(out).Scan() {
				t.Fatal("child did not start")
			}
			children = append(children, c)
		}
		time.Sleep(time.Duration(20+13*round%50) * time.Millisecond)
		for _, c := range children {
			must(t, c.Process.Kill())
			_ = c.Wait() // killed
		}
		r := wantClean(t, s)
		for i := range 3 {
			for j := range 50 {
				e := storetest.New(t, fmt.Sprintf("%d.%d", i, j), 1)
				unlock, err := s.Lock(bg, e.Key, 0)
				if err != nil {
					t.Fatalf("a dead process holds a lock: %v", err)
				}
				unlock()
			}
		}
		if r.Damaged > 0 {
			t.Errorf("%d damaged", r.Damaged)
		}
	}
	// What the account lost is found by a count.
	_, err := s.GC(bg, GCOptions{}, nil)
	must(t, err)
	r := wantClean(t, s)
	if st := s.Status(); st.Entries != r.Entries || !st.Counted {
		t.Errorf("account after gc: %+v; there are %d entries", st, r.Entries)
	}
}

// TestLockEndsWithItsProcess: a killed holder is not waited for.
func TestLockEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	s := open(t)
	c := child(t, "hold", s.o.Dir, 0)
	out, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	if !bufio.NewScanner(out).Scan() {
		t.Fatal("child did not start")
	}
	k := storetest.New(t, "held", 1).Key
	if _, err := s.Lock(bg, k, 20*time.Millisecond); !errors.Is(err, store.ErrLocked) {
		t.Errorf("lock: %v, want ErrLocked while the child lives", err)
	}
	must(t, c.Process.Kill())
	_ = c.Wait() // killed
	unlock, err := s.Lock(bg, k, 3*time.Minute)
	if err != nil {
		t.Fatalf("lock after the holder was killed: %v", err)
	}
	unlock()
}
