//go:build linux

package disk

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/faultfs"
	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/store"
)

// olderVersion makes a file one of an older format, and keeps its time.
func olderVersion(t testing.TB, path string) {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	b, err := os.ReadFile(path)
	must(t, err)
	b[8] = format.Version - 1
	must(t, os.WriteFile(path, b, 0o600))
	setMtime(t, path, info.ModTime())
}

// TestOlderEntries: entries of an older format or key schema are found, and go with gc
// once they were not used for a while; those of a newer version are not for this one to judge.
func TestOlderEntries(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := open(t, func(o *Options) { o.Now = c.now })
	if o, err := s.Older(bg); err != nil || o != (Older{All: true}) {
		t.Errorf("no root: %+v, %v", o, err)
	}
	e := make(map[string]*store.Entry)
	for _, name := range []string{"good", "older format", "older schema", "newer"} {
		e[name] = sized(t, s, name, 1000)
		put(t, s, e[name], store.Stored)
		setMtime(t, binPath(s, e[name].Key), c.now())
	}
	wantOlder := func(when string, want Older) {
		t.Helper()
		if o, err := s.Older(bg); err != nil || o != want {
			t.Errorf("%s: %+v, %v; want %+v", when, o, err, want)
		}
	}
	wantOlder("before", Older{All: true})
	olderVersion(t, binPath(s, e["older format"].Key))
	olderVersion(t, srcPath(s, e["older format"].Key))
	otherSchema(t, srcPath(s, e["older schema"].Key))
	must(t, otherVersion(binPath(s, e["newer"].Key)))
	must(t, otherVersion(srcPath(s, e["newer"].Key)))
	wantOlder("after", Older{Entries: 2, Bytes: 2 * 2 * block, All: true})

	ended, cancel := context.WithCancel(bg)
	cancel()
	if o, err := s.Older(ended); err != nil || o.All {
		t.Errorf("out of time: %+v, %v", o, err)
	}
	gc := func(o GCOptions, removed int64) {
		t.Helper()
		if r, err := s.GC(bg, o, nil); err != nil || r.Removed != removed || len(r.Problems) > 0 {
			t.Errorf("gc %+v: %+v, %v; want %d removed", o, r, err, removed)
		}
	}
	const day = 24 * time.Hour
	gc(GCOptions{Older: day}, 0)
	c.add(day + time.Minute)
	gc(GCOptions{}, 0)
	gc(GCOptions{Older: day, DryRun: true}, 2)
	wantOlder("after a dry run", Older{Entries: 2, Bytes: 2 * 2 * block, All: true})
	gc(GCOptions{Older: day}, 2)
	wantOlder("in the end", Older{All: true})
	wantHit(t, s, e["good"])
	for name, want := range map[string]bool{"older format": false, "older schema": false, "newer": true} {
		if exists(binPath(s, e[name].Key)) != want || exists(srcPath(s, e[name].Key)) != want {
			t.Errorf("%s: there %v, want %v", name, !want, want)
		}
	}
	if st := s.Status(); st.Entries != 1 {
		t.Errorf("account %+v", st)
	}
}

// TestOlderIsBounded: a root of any size is answered for soon, by a part of it.
func TestOlderIsBounded(t *testing.T) {
	t.Parallel()
	s := open(t)
	e := sized(t, s, "e", 1000)
	put(t, s, e, store.Stored)
	olderVersion(t, binPath(s, e.Key))
	b, err := os.ReadFile(binPath(s, e.Key))
	must(t, err)
	for n := 1; n <= maxOlder; n++ {
		must(t, os.WriteFile(filepath.Join(filepath.Dir(binPath(s, e.Key)), strconv.Itoa(n)+binSuffix), b[:100], 0o600))
	}
	if o, err := s.Older(bg); err != nil || o.Entries != maxOlder || o.All {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestOlderOfABadMedium: what cannot be read may be older.
func TestOlderOfABadMedium(t *testing.T) {
	t.Parallel()
	s := open(t)
	put(t, s, sized(t, s, "e", 1000), store.Stored)
	told := 0
	for nth := 1; ; nth++ {
		plan := faultfs.New(faultfs.Rule{Ops: []safefs.Op{safefs.OpGetdents}, Nth: nth, Fault: faultfs.Fault{Err: syscall.EIO}})
		bad := New(s.o.WithFiles(safefs.Options{Hook: plan.Hook()}))
		o, err := bad.Older(bg)
		must(t, bad.Close())
		if len(plan.Hits()) == 0 {
			break
		}
		if err == nil && o.All {
			t.Errorf("call %d fails, and all was seen", nth)
		} else if err == nil {
			told++
		}
	}
	if told == 0 {
		t.Error("no answer in part")
	}
}
