//go:build linux

package disk

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/storetest"
)

func init() { roles["crowd"] = roleCrowd }

// crowdVar tells a process of a crowd what to write.
const crowdVar = "KERNSTASH_TEST_CROWD"

// crowd is a number of processes that write entries under a limit. All of them
// start at once, with their entries ready.
type crowd struct {
	Processes, Entries int
	Code               int // bytes of each entry's code
	Limit              int64
	Insist             bool // put what was dropped again, a little later
}

// Who insists tries again after a pause, which doubles while there is no room.
const (
	shortestPause = 5 * time.Millisecond
	longestPause  = 80 * time.Millisecond
)

// crowdPart is what one process of a crowd saw.
type crowdPart struct {
	Stored, Dropped int
	Again           int           // puts of what was dropped before
	Longest         time.Duration // of its puts
	Ended           time.Time
}

// roleCrowd writes every entry whose number is arg, modulo the processes.
func roleCrowd(s *Store, arg int) error {
	var c crowd
	if err := json.Unmarshal([]byte(os.Getenv(crowdVar)), &c); err != nil {
		return err
	}
	o := s.o
	o.MaxSize = c.Limit
	limited := New(o)
	defer limited.Close()
	var entries []*store.Entry
	for i := arg; i < c.Entries; i += c.Processes {
		entries = append(entries, storetest.New(noTest{}, fmt.Sprint("crowd", i), c.Code))
	}
	fmt.Println("ready")
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	var part crowdPart
	pause := shortestPause
	for i := 0; i < len(entries); {
		start := time.Now()
		_, err := limited.Put(bg, entries[i])
		part.Longest = max(part.Longest, time.Since(start))
		switch {
		case err == nil:
			part.Stored++
			pause = shortestPause
		case !errors.Is(err, store.ErrDropped):
			return err
		case c.Insist:
			part.Again++
			time.Sleep(pause/2 + rand.N(pause))
			pause = min(2*pause, longestPause)
			continue
		default:
			part.Dropped++
		}
		i++
	}
	part.Ended = time.Now()
	return json.NewEncoder(os.Stdout).Encode(part)
}

// crowdResult is what a crowd did together.
type crowdResult struct {
	crowdPart
	Took time.Duration
	Peak int64         // of the account
	CPU  time.Duration // of all processes, their starts too
}

// perSecond is how many entries a crowd stored.
func (r crowdResult) perSecond() float64 { return float64(r.Stored) / r.Took.Seconds() }

// run lets a crowd write to the root of s, and watches the account.
func (c crowd) run(t *testing.T, s *Store) crowdResult {
	t.Helper()
	setting, err := json.Marshal(c)
	must(t, err)
	outs := make([]*bufio.Reader, c.Processes)
	ins := make([]io.Closer, c.Processes)
	children := make([]*exec.Cmd, c.Processes)
	for i := range children {
		children[i] = child(t, "crowd", s.o.Dir, i)
		children[i].Env = append(children[i].Env, crowdVar+"="+string(setting))
		out, err := children[i].StdoutPipe()
		must(t, err)
		outs[i] = bufio.NewReader(out)
		ins[i], err = children[i].StdinPipe()
		must(t, err)
		must(t, children[i].Start())
	}
	for _, out := range outs {
		if line, err := out.ReadString('\n'); err != nil || line != "ready\n" {
			t.Fatalf("a child said %q: %v", line, err)
		}
	}
	ended := make(chan struct{})
	peak := make(chan int64)
	go func() {
		var most int64
		for {
			most = max(most, s.Status().Bytes)
			select {
			case <-ended:
				peak <- most
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	start := time.Now()
	for _, in := range ins {
		in.Close()
	}
	var r crowdResult
	for i, out := range outs {
		var part crowdPart
		if err := json.NewDecoder(out).Decode(&part); err != nil {
			t.Fatal(err)
		}
		r.Stored += part.Stored
		r.Dropped += part.Dropped
		r.Again += part.Again
		r.Longest = max(r.Longest, part.Longest)
		r.Took = max(r.Took, part.Ended.Sub(start))
		if err := children[i].Wait(); err != nil {
			t.Errorf("child: %v", err)
		}
		r.CPU += children[i].ProcessState.UserTime() + children[i].ProcessState.SystemTime()
	}
	close(ended)
	r.Peak = <-peak
	if r.Stored+r.Dropped != c.Entries {
		t.Errorf("%d stored and %d dropped of %d", r.Stored, r.Dropped, c.Entries)
	}
	return r
}

// TestCrowdUnderLimit: many processes write under a limit that forces eviction.
// None is slowed by the others, no put waits for the evictor, and the limit
// holds within the entries in flight. Its long form compares with one process
// that writes the same.
func TestCrowdUnderLimit(t *testing.T) {
	c := crowd{Processes: 8, Entries: 800, Code: 3000}
	// With the race detector, 64 processes measure the detector.
	long := os.Getenv("KERNSTASH_TEST_LONG") != "" && !raceEnabled
	if long {
		// What is measured is entries that are there: all are put until they
		// are stored, so the evictor's pace counts too.
		c.Processes, c.Entries, c.Insist = 64, 10_000, true
	} else {
		t.Parallel()
	}
	size := func() int64 {
		s := open(t)
		put(t, s, storetest.New(t, fmt.Sprint("crowd", c.Entries), c.Code), store.Stored)
		return s.Status().Bytes
	}()
	c.Limit = size * int64(c.Entries) / 5
	run := func(c crowd) crowdResult {
		s := open(t)
		r := c.run(t, s)
		t.Logf("%d processes: %d stored, %d dropped, %d put again in %v (CPU %v), %.0f/s, longest put %v; limit %d, peak %d",
			c.Processes, r.Stored, r.Dropped, r.Again, r.Took.Round(time.Millisecond), r.CPU.Round(time.Millisecond), r.perSecond(), r.Longest.Round(time.Millisecond), c.Limit, r.Peak)
		most := c.Limit + int64(c.Processes)*size
		if long && r.Peak > most { // in a short run a count that is off weighs more
			t.Errorf("the account said %d, the limit and what is in flight are %d", r.Peak, most)
		}
		if tree := storetest.Look(t, s.o.Dir); tree.Bytes > most {
			t.Errorf("%d bytes are there, the limit and what is in flight are %d", tree.Bytes, most)
		}
		wantClean(t, s)
		if err := os.RemoveAll(s.o.Dir); err != nil {
			t.Error(err)
		}
		return r
	}
	if !long {
		run(c)
		return
	}
	one := c
	one.Processes = 1
	// What is under its bar is measured again: the machine may be busy.
	const bar = 0.8
	var ratios []float64
	alone := run(one).perSecond()
	for range 3 {
		// Between two runs of one: a file system may become slower with each
		// (ext4 without a journal does not take an inode again for a minute).
		together, again := run(c).perSecond(), run(one).perSecond()
		ratio := together / ((alone + again) / 2)
		alone = again
		ratios = append(ratios, ratio)
		if ratio >= bar {
			break
		}
	}
	t.Logf("64 processes store %.2f × what one does", ratios)
	if ratios[len(ratios)-1] < bar {
		t.Errorf("64 processes store %.2f × what one does, want %.1f", ratios, bar)
	}
}

// TestNoPutWaitsForTheEvictor: while an evictor hangs, holding its lock, a
// crowd's puts are stored until the limit and dropped from there on, at once.
func TestNoPutWaitsForTheEvictor(t *testing.T) {
	t.Parallel()
	c := crowd{Processes: 8, Entries: 400, Code: 3000}
	s := open(t)
	e := storetest.New(t, "size", c.Code)
	put(t, s, e, store.Stored)
	size := s.Status().Bytes
	c.Limit = 100 * size
	r, err := s.at.Acquire(false)
	must(t, err)
	defer r.Release()
	m, err := r.Meta()
	must(t, err)
	unlock, err := m.LockEvict(bg, 0, time.Second)
	must(t, err)
	defer unlock()
	got := c.run(t, s)
	if got.Dropped < c.Entries-100-c.Processes || got.Stored < 90 {
		t.Errorf("%d stored, %d dropped of %d under a limit of 100", got.Stored, got.Dropped, c.Entries)
	}
	if got.Longest > 2*time.Minute { // a wait would be for ever
		t.Errorf("a put took %v", got.Longest)
	}
}
