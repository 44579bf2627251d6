//go:build linux

package disk

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/storetest"
)

func init() { roles["evict"] = roleEvict }

// roleEvict puts under a limit that is always passed, and counts in between.
func roleEvict(s *Store, arg int) error {
	o := s.o
	o.MaxSize = 40 * each
	limited := New(o)
	defer limited.Close()
	fmt.Println("started")
	for i := 0; ; i++ {
		_, _ = limited.Put(bg, storetest.New(noTest{}, fmt.Sprintf("%d.%d", arg, i), 100)) // many are dropped
		if arg == 0 && i%20 == 19 {
			_, _ = limited.GC(bg, GCOptions{}, nil)
		}
	}
}

// TestKilledEvictors: whenever who counts or evicts dies, entries are good, the
// next one evicts, and a count makes the account right.
func TestKilledEvictors(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *Options) { o.MaxSize = 40 * each })
	rounds := 6
	if os.Getenv("KERNSTASH_TEST_LONG") != "" {
		rounds = 100
	}
	for round := range rounds {
		var children []*exec.Cmd
		for i := range 3 {
			c := child(t, "evict", s.o.Dir, i)
			out, err := c.StdoutPipe()
			must(t, err)
			must(t, c.Start())
			if !bufio.NewScanner(out).Scan() {
				t.Fatal("child did not start")
			}
			children = append(children, c)
		}
		time.Sleep(time.Duration(30+17*round%70) * time.Millisecond)
		for _, c := range children {
			must(t, c.Process.Kill())
			_ = c.Wait() // killed
		}
		wantClean(t, s)
	}
	_, err := s.GC(bg, GCOptions{}, nil)
	must(t, err)
	r := wantClean(t, s)
	if st := s.Status(); st.Bytes != r.Bytes || st.Entries != r.Entries || !st.Counted || r.Bytes > s.o.MaxSize {
		t.Errorf("account after gc: %+v; there are %d bytes of %d entries", st, r.Bytes, r.Entries)
	}
	for i := range 60 {
		if res, err := s.Put(bg, storetest.New(t, fmt.Sprint("after", i), 100)); err != nil || res != store.Stored {
			t.Errorf("put: %d, %v", res, err)
		}
		settled(s)
	}
	if st := s.Status(); st.Bytes > s.o.MaxSize {
		t.Errorf("nobody evicts any more: %+v", st)
	}
}
