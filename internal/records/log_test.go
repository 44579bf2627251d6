package records

import (
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func summed(text []byte) []byte {
	sum := crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli))
	b := hex.AppendEncode(nil, []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
	return append(append(b, ' '), text...)
}

func label() string { return "k" }

func TestLog(t *testing.T) {
	t.Parallel()
	l := New("app")
	k := aKey(1)
	if b := l.Take(at, true); b != nil {
		t.Errorf("nothing is written as %q", b)
	}
	l.Hit(&k, at, time.Second, label)
	l.Hit(&k, at.Add(time.Minute), 2*time.Second, label)
	l.Miss(Line{At: at, Reason: "r"})
	want := []Line{
		{Kind: Miss, App: "app", At: at, Since: at, Reason: "r"},
		{Kind: Hits, App: "app", At: at.Add(time.Minute), Since: at, Entry: EntryOf(k), Hits: 2, Saved: 3 * time.Second, Label: "k"},
	}
	b := l.Take(at, false)
	if diff := cmp.Diff(want, parsed(b)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if again := l.Take(at.Add(time.Hour), true); again != nil {
		t.Errorf("again %q", again)
	}
	l.GiveBack(b)
	if diff := cmp.Diff(want, parsed(l.Take(at, true))); diff != "" {
		t.Errorf("given back (-want +got):\n%s", diff)
	}
	var none *Log
	none.Hit(&k, at, 0, label)
	none.Miss(Line{})
	if none.Take(at, true) != nil {
		t.Error("a nil Log has something")
	}
}

// TestPace: a process that hits all the time writes some dozen times a second at most, one that does so for a moment
// nearly all of it, and what it missed at once.
func TestPace(t *testing.T) {
	t.Parallel()
	l, k := New("app"), aKey(1)
	var hits, writes, soon int64
	now := at
	for range 10_000 { // ten seconds
		now = now.Add(time.Millisecond)
		l.Hit(&k, now, 0, label)
		if b := l.Take(now, false); b != nil {
			writes++
			hits += parsed(b)[0].Hits
		}
		if now.Sub(at) == 40*time.Millisecond {
			soon = hits
		}
	}
	if writes > 150 || soon < 28 || hits < 9_800 {
		t.Errorf("%d writes, %d of 40 hits after 40 ms, %d of 10000 in the end", writes, soon, hits)
	}
	l.Hit(&k, now, 0, label)
	l.Miss(Line{At: now})
	if l.Take(now, false) == nil {
		t.Error("a miss waits")
	}
}

// TestLogIsBounded: whatever a process asks for, the Log keeps some hundred kilobytes.
func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	l := New("app")
	for i := range 3 * maxKeys {
		k := aKey(i)
		l.Hit(&k, at, 0, label)
		l.Miss(Line{At: at, Entry: EntryOf(k), Reason: fmt.Sprint(i)})
	}
	b := l.Take(at, true)
	if n := len(parsed(b)); len(b) > maxBytes+maxKeys*512 || n < maxKeys+100 {
		t.Errorf("%d bytes, %d lines", len(b), n)
	}
	for range 100 {
		l.GiveBack(b)
	}
	if b := l.Take(at, true); len(b) > maxAgain+1 {
		t.Errorf("%d bytes were given back", len(b))
	}
}

// TestHitsAllocateNothing: of the second hit of an entry nothing is allocated.
func TestHitsAllocateNothing(t *testing.T) {
	l, k := New("app"), aKey(1)
	l.Hit(&k, at, 0, label)
	if n := testing.AllocsPerRun(1000, func() { l.Hit(&k, at, time.Second, label) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestLogConcurrently(t *testing.T) {
	t.Parallel()
	l := New("app")
	var wg sync.WaitGroup
	var mu sync.Mutex
	var hits int64
	take := func(last bool) {
		for _, line := range parsed(l.Take(time.Now(), last)) {
			mu.Lock()
			hits += line.Hits
			mu.Unlock()
		}
	}
	for i := range 4 {
		wg.Go(func() {
			k := aKey(i % 2)
			for range 500 {
				l.Hit(&k, time.Now(), 0, label)
				take(false)
			}
		})
	}
	wg.Wait()
	take(true)
	if hits != 2000 {
		t.Errorf("%d hits of 2000", hits)
	}
}
