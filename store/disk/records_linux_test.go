//go:build linux

package disk

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/faultfs"
	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/internal/recordlog"
)

func missOf(reason string) []byte {
	l := records.Line{Kind: records.Miss, At: time.Unix(1_800_000_000, 0), App: "app", Reason: reason}
	return l.Append([]byte("\n"))
}

// taken returns the lines that were recorded, and removes them.
func taken(t *testing.T, s *Store) (all []records.Line) {
	t.Helper()
	must(t, s.TakeRecords(bg, func(_ string, b []byte) error {
		records.Parse(b, func(l records.Line) { all = append(all, l) })
		return nil
	}))
	return all
}

func TestRecords(t *testing.T) {
	t.Parallel()
	s := open(t)
	if all := taken(t, s); len(all) != 0 {
		t.Errorf("nothing was recorded: %+v", all)
	}
	if _, err := os.Lstat(s.o.Dir); err == nil {
		t.Error("to read records made a root")
	}
	must(t, s.AppendRecords(missOf("one")))
	must(t, s.AppendRecords(missOf("two")))
	kept := errors.New("kept")
	var name string
	if err := s.TakeRecords(bg, func(n string, _ []byte) error { name = n; return kept }); !errors.Is(err, kept) {
		t.Error(err)
	}
	must(t, s.AppendRecords(missOf("three")))
	var reasons []string
	again := false
	must(t, s.TakeRecords(bg, func(n string, b []byte) error {
		again = again || n == name
		records.Parse(b, func(l records.Line) { reasons = append(reasons, l.Reason) })
		return nil
	}))
	if len(reasons) != 3 || !again {
		t.Errorf("%q, the file that was kept by its name: %v", reasons, again)
	}
	if all := taken(t, s); len(all) != 0 {
		t.Errorf("they come again: %+v", all)
	}
}

// TestRecordsCost: to append records is a handful of system calls, whatever is there.
func TestRecordsCost(t *testing.T) {
	t.Parallel()
	var calls, bytes atomic.Int64
	count := &safefs.Hook{Before: func(op safefs.Op, size int) (int, error) {
		calls.Add(1)
		if op == safefs.OpPwrite {
			bytes.Add(int64(size))
		}
		return size, nil
	}}
	s := New(open(t).o.WithFiles(safefs.Options{Hook: count}))
	t.Cleanup(func() { s.Close() })
	must(t, s.AppendRecords(missOf("first")))
	line := missOf("next")
	for range 3 {
		calls.Store(0)
		bytes.Store(0)
		must(t, s.AppendRecords(line))
		if n := calls.Load(); n > 8 || bytes.Load() != int64(len(line)) {
			t.Errorf("%d system calls, %d bytes of %d", n, bytes.Load(), len(line))
		}
	}
	t.Logf("%d system calls", calls.Load())
}

// TestRecordsAreBounded: what nobody reads takes some megabytes, and the last of it is there.
func TestRecordsAreBounded(t *testing.T) {
	t.Parallel()
	s := open(t)
	much := bytes.Repeat(missOf("much"), 4000)
	for range 30 {
		must(t, s.AppendRecords(much))
	}
	must(t, s.AppendRecords(missOf("last")))
	total := int64(0)
	must(t, filepath.WalkDir(filepath.Join(s.o.Dir, ".meta", "records"), func(_ string, d os.DirEntry, err error) error {
		if info, _ := d.Info(); err == nil && !d.IsDir() {
			total += info.Size()
		}
		return err
	}))
	if total > (recordlog.Most+1)*recordlog.Full {
		t.Errorf("%d bytes", total)
	}
	last := false
	for _, l := range taken(t, s) {
		last = last || l.Reason == "last"
	}
	if !last {
		t.Error("the last one is not there")
	}
}

// TestRecordsOfMany: what many processes append, while others read, is read once.
func TestRecordsOfMany(t *testing.T) {
	t.Parallel()
	const writers, each = 4, 50
	o := open(t).o
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := make(map[string]int)
	read := func(s *Store) {
		err := s.TakeRecords(bg, func(_ string, b []byte) error {
			mu.Lock()
			defer mu.Unlock()
			records.Parse(b, func(l records.Line) { seen[l.Reason]++ })
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	for w := range writers {
		wg.Go(func() {
			s := New(o) // with locks of its own, as a process has
			defer s.Close()
			for i := range each {
				for s.AppendRecords(missOf(fmt.Sprint(w, " ", i))) != nil { // busy
				}
				if w == 0 && i%10 == 0 {
					read(s)
				}
			}
		})
	}
	wg.Wait()
	s := New(o)
	defer s.Close()
	read(s)
	for reason, n := range seen {
		if n != 1 {
			t.Errorf("%s: %d times", reason, n)
		}
	}
	if len(seen) != writers*each {
		t.Errorf("%d of %d", len(seen), writers*each)
	}
}

// TestForeignRecords: what else has the names is neither followed nor waited for, and harms nobody.
func TestForeignRecords(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(path, victim string) error{
		"link":       func(p, v string) error { return os.Symlink(v, p) },
		"directory":  func(p, _ string) error { return os.Mkdir(p, 0o700) },
		"FIFO":       mkfifo,
		"other text": func(p, _ string) error { return os.WriteFile(p, []byte("no records\n\x00\xff"), 0o600) },
		"torn":       func(p, _ string) error { return os.WriteFile(p, missOf("torn")[:30], 0o600) },
	} {
		for _, file := range []string{"current.1", "0123456789abcdef.1", "0123456789abcdef.2"} {
			t.Run(name+" "+file, func(t *testing.T) {
				t.Parallel()
				s := open(t)
				must(t, s.AppendRecords(missOf("one")))
				taken(t, s)
				dir := filepath.Join(s.o.Dir, ".meta", "records")
				victim := filepath.Join(t.TempDir(), "victim")
				must(t, os.WriteFile(victim, missOf("victim"), 0o600))
				must(t, make(filepath.Join(dir, file), victim))
				_ = s.AppendRecords(missOf("two"))
				_ = s.TakeRecords(bg, func(_ string, b []byte) error {
					records.Parse(b, func(l records.Line) {
						if l.Reason != "two" {
							t.Errorf("read %+v", l)
						}
					})
					return nil
				})
				if b, err := os.ReadFile(victim); err != nil || !bytes.Equal(b, missOf("victim")) {
					t.Errorf("the victim holds %q, %v", b, err)
				}
			})
		}
	}
}

// TestRecordsFaults has every system call of an append and of a read fail: each returns, and what was recorded
// before comes once.
func TestRecordsFaults(t *testing.T) {
	t.Parallel()
	base := open(t).o
	for _, kind := range faultfs.Kinds() {
		for nth := 1; ; nth++ {
			o := base
			o.Dir = filepath.Join(t.TempDir(), "root")
			must(t, func() error { s := New(o); defer s.Close(); return s.AppendRecords(missOf("before")) }())
			plan := faultfs.New(faultfs.Rule{Nth: nth, Ops: kind.Ops, Fault: kind.Fault})
			s := New(o.WithFiles(safefs.Options{Hook: plan.Hook()}))
			appended := s.AppendRecords(missOf("during"))
			before, during := 0, 0
			if appended != nil && !errors.Is(appended, records.ErrTorn) { // as a process does
				_ = s.AppendRecords(missOf("during"))
			}
			see := func(_ string, b []byte) error {
				records.Parse(b, func(l records.Line) {
					if l.Reason == "before" {
						before++
					} else {
						during++
					}
				})
				return nil
			}
			_ = s.TakeRecords(bg, func(string, []byte) error { return errors.New("it stays") })
			s.Close()
			failed := len(plan.Hits()) > 0
			after := New(o)
			must(t, after.TakeRecords(bg, see))
			after.Close()
			if !failed {
				if appended != nil {
					t.Errorf("%s: %v", kind.Name, appended)
				}
				break
			}
			if before != 1 || during > 1 || appended == nil && during != 1 {
				t.Errorf("%s at call %d: what was there comes %d times, what was appended (%v) %d times", kind.Name, nth, before, appended, during)
			}
		}
	}
}

// TestEvictedIsNoted: what is evicted, or removed by gc and verify, is noted with the reason; where nothing is to be
// recorded it is not.
func TestEvictedIsNoted(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{true, false} {
		t.Run(fmt.Sprint(on), func(t *testing.T) {
			t.Parallel()
			o := open(t).o
			o.Records = on
			s := New(o)
			t.Cleanup(func() { s.Close() })
			e := sized(t, s, "one", 1000)
			put(t, s, e, store.Stored)
			path := filepath.Join(o.Dir, records.PlaceOf(e.Key).Path(), "0.bin")
			damage := func() { must(t, os.Truncate(path, 300)) }
			for _, tt := range []struct {
				why    string
				remove func() error
			}{
				{records.Evicted, func() error { _, err := s.GC(bg, GCOptions{MaxSize: 1}, nil); return err }},
				{records.Damaged, func() error { damage(); _, err := s.GC(bg, GCOptions{}, nil); return err }},
				{records.Damaged, func() error { damage(); _, err := s.Verify(bg, true, nil); return err }},
				{records.Old, func() error {
					must(t, os.Chtimes(path, time.Now(), time.Now().Add(-48*time.Hour)))
					_, err := s.GC(bg, GCOptions{MaxAge: time.Hour}, nil)
					return err
				}},
				{records.Evicted, func() error {
					small := o
					small.MaxSize = 1
					s := New(small)
					s.evictor.Wake()
					s.evictor.Wait()
					return s.Close()
				}},
				{"", func() error { return s.Delete(bg, e.Key) }},
				{"", func() error { _, err := s.GC(bg, GCOptions{MaxSize: 1, DryRun: true}, nil); return err }},
			} {
				if _, err := s.Put(bg, e); err != nil {
					t.Fatal(err)
				}
				must(t, tt.remove())
				all := taken(t, s)
				if !on || tt.why == "" {
					if len(all) > 0 {
						t.Errorf("%s: %+v", tt.why, all)
					}
					continue
				}
				if len(all) != 1 || all[0].Kind != records.Gone || all[0].Reason != tt.why || all[0].Entry.Place != records.PlaceOf(e.Key) {
					t.Errorf("%s: %+v", tt.why, all)
				}
			}
		})
	}
}

func mkfifo(path, _ string) error { return syscall.Mkfifo(path, 0o600) }
