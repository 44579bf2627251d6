//go:build linux

package disk

import (
	"os"
	"testing"
	"time"

	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/storetest"
)

func mtime(t *testing.T, path string) time.Time {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	return info.ModTime()
}

// TestUseIsRecorded: at the first hit in a process, then hourly.
func TestUseIsRecorded(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := open(t, func(o *Options) { o.Now = c.now })
	e := storetest.New(t, "e", 100)
	put(t, s, e, store.Stored)
	stored := c.now()
	path := binPath(s, e.Key)
	for i, step := range []struct {
		wait     time.Duration
		recorded bool
	}{
		{time.Second, true}, {time.Second, false}, {time.Minute, false}, {time.Hour, true}, {time.Hour - time.Minute, false},
	} {
		c.add(step.wait)
		before := mtime(t, path)
		wantHit(t, s, e)
		want := before
		if step.recorded {
			want = c.now()
		}
		if got := mtime(t, path); !got.Equal(want) {
			t.Errorf("step %d: used %v after it was stored, recorded %v", i, c.now().Sub(stored), got.Sub(stored))
		}
	}
	again := New(s.o) // another process
	defer again.Close()
	wantHit(t, again, e)
	if got := mtime(t, path); !got.Equal(c.now()) {
		t.Errorf("first hit of another process is not recorded")
	}
}

// TestUseOfManyIsBounded: whatever the table forgets is recorded again, not
// lost.
func TestUseOfManyIsBounded(t *testing.T) {
	t.Parallel()
	var table accessTable
	now := newClock().now()
	due := 0
	for i := range 3 * len(table.last) {
		k := storetest.New(noTest{}, "x", 1).Key
		k.Sum[8], k.Sum[9], k.Sum[12], k.Sum[13], k.Sum[14] = byte(i), byte(i>>8), byte(i), byte(i>>8), byte(i>>16)
		if table.due(&k, now) {
			due++
		}
		if i%1000 == 0 && table.due(&k, now.Add(time.Second)) {
			t.Errorf("key %d is due twice", i)
		}
	}
	if due != 3*len(table.last) {
		t.Errorf("%d of %d first uses are due", due, 3*len(table.last))
	}
}
