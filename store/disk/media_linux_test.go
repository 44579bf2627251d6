package disk

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/needs"
	"github.com/kernstash/kernstash/internal/ownmounts"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/storetest"
	"golang.org/x/sys/unix"
)

// mounted returns where a file system is mounted for the test, which has mounts of its own.
// An image is mounted by a loop device.
func mounted(t *testing.T, kind, source, options string) string {
	t.Helper()
	at := t.TempDir()
	if out, err := exec.Command("mount", "-t", kind, "-o", options, source, at).CombinedOutput(); err != nil {
		t.Skipf("NOT RUN: no %s can be mounted here: %v: %s", kind, err, out)
	}
	t.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
	return at
}

// imageOf returns an image that a command makes, which gets its path as its last argument.
func imageOf(t *testing.T, size int64, command ...string) string {
	t.Helper()
	image := filepath.Join(t.TempDir(), "image")
	if size > 0 {
		must(t, os.WriteFile(image, nil, 0o600))
		must(t, os.Truncate(image, size))
	}
	needs.Tool(t, command[0], "e2fsprogs xfsprogs btrfs-progs")
	if out, err := exec.Command(command[0], append(command[1:], image)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: %s", command, err, out)
	}
	return image
}

// filled puts n entries into a store.
func filled(t *testing.T, s *Store, n int) (all []*store.Entry) {
	t.Helper()
	for i := range n {
		e := storetest.New(t, fmt.Sprint("entry", i), 5000)
		put(t, s, e, store.Stored)
		all = append(all, e)
	}
	return all
}

// TestFileSystems: the store's contract, and a full disk, on file systems that are not
// those of the other tests.
func TestFileSystems(t *testing.T) {
	timing.Long(t)
	t.Parallel()
	if !ownmounts.Here(t) {
		return
	}
	for kind, make := range map[string][]string{
		"ext4":  {"mkfs.ext4", "-q", "-F"},
		"xfs":   {"mkfs.xfs", "-q", "-f"},
		"btrfs": {"mkfs.btrfs", "-q", "-f"},
	} {
		t.Run(kind, func(t *testing.T) {
			at := mounted(t, kind, imageOf(t, 320<<20, make...), "loop")
			storetest.Run(t, func(t *testing.T) store.Store {
				dir, err := os.MkdirTemp(at, "root")
				must(t, err)
				return open(t, func(o *Options) { o.Dir = dir })
			})
			t.Run("Full", func(t *testing.T) { fullAndRoomAgain(t, at) })
		})
	}
}

// fullAndRoomAgain fills the file system at a path: what does not fit is not stored, what
// is there hits; then there is room again.
func fullAndRoomAgain(t *testing.T, at string) {
	s := open(t, func(o *Options) { o.Dir = filepath.Join(at, "full") })
	all := filled(t, s, 20)
	filler := filepath.Join(at, "filler")
	f, err := os.Create(filler)
	must(t, err)
	block := make([]byte, 1<<16)
	for len(block) > 0 {
		if _, err := f.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
	_ = f.Sync()
	must(t, f.Close())
	failed := 0
	for i := range 200 {
		e := storetest.New(t, fmt.Sprint("more", i), 200_000)
		switch _, err := s.Put(bg, e); {
		case err != nil:
			failed++
			wantMissOfAny(t, s, e)
		default:
			wantHit(t, s, e)
		}
	}
	if failed == 0 {
		t.Error("the disk did not become full")
	}
	for _, e := range all {
		wantHit(t, s, e)
	}
	must(t, os.Remove(filler))
	unix.Sync()
	put(t, s, storetest.New(t, "after", 5000), store.Stored)
	if _, err := s.GC(bg, GCOptions{}, nil); err != nil {
		t.Error(err)
	}
	wantClean(t, s)
}

func wantMissOfAny(t *testing.T, s *Store, e *store.Entry) {
	t.Helper()
	if _, err := s.Get(bg, e.Key); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("what was not stored: %v", err)
	}
}

// TestReadOnlyInUse: a file system turns read-only under an open store. What is there
// hits, what is new is not stored; later it is.
func TestReadOnlyInUse(t *testing.T) {
	t.Parallel()
	if !ownmounts.Here(t) {
		return
	}
	at := mounted(t, "tmpfs", "tmpfs", "size=16m,mode=700")
	s := open(t, func(o *Options) { o.Dir = filepath.Join(at, "root") })
	all := filled(t, s, 10)
	remount := func(how string) {
		t.Helper()
		if out, err := exec.Command("mount", "-o", "remount,"+how, at).CombinedOutput(); err != nil {
			t.Skipf("NOT RUN: not mounted anew: %v: %s", err, out)
		}
	}
	// A file that is open for writing keeps the kernel from it.
	must(t, s.Close())
	s = open(t, func(o *Options) { o.Dir = filepath.Join(at, "root") })
	wantHit(t, s, all[0])
	remount("ro")
	for range 2 {
		for _, e := range all {
			wantHit(t, s, e)
		}
		e := storetest.New(t, "new", 5000)
		if _, err := s.Put(bg, e); err == nil {
			t.Error("stored on a read-only disk")
		}
		wantMissOfAny(t, s, e)
		if unlock, err := s.Lock(bg, e.Key, time.Minute); err == nil {
			unlock()
		} else if errors.Is(err, store.ErrLocked) {
			t.Error("a lock that nobody has keeps builds waiting")
		}
		must(t, s.Close())
		s = open(t, func(o *Options) { o.Dir = filepath.Join(at, "root") })
	}
	remount("rw")
	put(t, s, storetest.New(t, "new", 5000), store.Stored)
	wantClean(t, s)
}

// TestReadOnlyByAnError: ext4 turns read-only while files of the store are open for
// writing, after an error that the kernel is made to see.
func TestReadOnlyByAnError(t *testing.T) {
	timing.Long(t)
	t.Parallel()
	if !ownmounts.Here(t) {
		return
	}
	at := mounted(t, "ext4", imageOf(t, 64<<20, "mkfs.ext4", "-q", "-F"), "loop,errors=remount-ro")
	s := open(t, func(o *Options) { o.Dir = filepath.Join(at, "root") })
	all := filled(t, s, 10)
	held, err := s.Lock(bg, all[0].Key, 0)
	must(t, err)
	out, err := exec.Command("findmnt", "-n", "-o", "SOURCE", at).Output()
	must(t, err)
	trigger := filepath.Join("/sys/fs/ext4", filepath.Base(strings.TrimSpace(string(out))), "trigger_fs_error")
	if err := os.WriteFile(trigger, []byte("1"), 0); err != nil {
		t.Skipf("NOT RUN: %v", err)
	}
	for i := range 5 {
		for _, e := range all {
			wantHit(t, s, e)
		}
		e := storetest.New(t, fmt.Sprint("new", i), 5000)
		if _, err := s.Put(bg, e); err == nil {
			t.Error("stored on a read-only disk")
		}
		wantMissOfAny(t, s, e)
		if err := s.AddStats(stats.Snapshot{stats.Builds: 1}); err == nil {
			t.Error("statistics were written")
		}
	}
	held()
	if unlock, err := s.Lock(bg, all[0].Key, 0); err == nil {
		unlock()
	} else if errors.Is(err, store.ErrLocked) {
		t.Error("a lock stayed")
	}
}

// TestReadOnlyImages: a root that is packed into an image of squashfs or erofs is a
// layer.
func TestReadOnlyImages(t *testing.T) {
	t.Parallel()
	if !ownmounts.Here(t) {
		return
	}
	for kind, make := range map[string]func(dir, image string) []string{
		"squashfs": func(dir, image string) []string { return []string{"mksquashfs", dir, image, "-quiet", "-no-progress"} },
		"erofs":    func(dir, image string) []string { return []string{"mkfs.erofs", "--quiet", image, dir} },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "root")
			s := New(Options{Dir: dir})
			all := filled(t, s, 20)
			must(t, s.Close())
			image := filepath.Join(t.TempDir(), "image")
			command := make(dir, image)
			needs.Tool(t, command[0], "squashfs-tools erofs-utils")
			if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			at := mounted(t, kind, image, "loop,ro")
			for _, readOnly := range []bool{true, false} {
				layer := open(t, func(o *Options) { o.Dir, o.ReadOnly = at, readOnly })
				for _, e := range all {
					wantHit(t, layer, e)
				}
				if _, err := layer.Put(bg, storetest.New(t, "new", 100)); err == nil {
					t.Error("stored in an image")
				}
				if r, err := layer.Verify(bg, false, nil); err != nil || len(r.Problems) > 0 {
					t.Errorf("verify: %v, %v", err, r.Problems)
				}
			}
		})
	}
}

// TestQuota: a quota that is used up (EDQUOT) is a put that fails, and nothing more.
func TestQuota(t *testing.T) {
	timing.Long(t)
	t.Parallel()
	if !ownmounts.Here(t) {
		return
	}
	at := mounted(t, "btrfs", imageOf(t, 200<<20, "mkfs.btrfs", "-q", "-f"), "loop")
	volume := filepath.Join(at, "volume")
	for _, command := range [][]string{
		{"btrfs", "quota", "enable", at}, {"btrfs", "subvolume", "create", volume}, {"btrfs", "qgroup", "limit", "3M", volume},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Skipf("NOT RUN: %v: %v: %s", command, err, out)
		}
	}
	must(t, os.Chmod(volume, 0o700))
	s := open(t, func(o *Options) { o.Dir = filepath.Join(volume, "root") })
	all := filled(t, s, 10)
	over := false
	for i := range 60 {
		e := storetest.New(t, fmt.Sprint("more", i), 100_000)
		if _, err := s.Put(bg, e); errors.Is(err, unix.EDQUOT) {
			over = true
			wantMissOfAny(t, s, e)
		} else if err == nil {
			wantHit(t, s, e)
		}
	}
	if !over {
		t.Error("the quota was never used up")
	}
	for _, e := range all {
		wantHit(t, s, e)
	}
	if out, err := exec.Command("btrfs", "qgroup", "limit", "none", volume).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	put(t, s, storetest.New(t, "after", 5000), store.Stored)
	wantClean(t, s)
}

// TestClockJumps: a clock that jumps by years, back or forth, removes no entry and stops
// no put, and gc removes by age again when it is right.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := open(t, func(o *Options) { o.Now, o.MaxSize = c.now, 10<<20 })
	var all []*store.Entry
	const year = 365 * 24 * time.Hour
	for i, jump := range []time.Duration{0, 20 * year, -50 * year, -9 * year, time.Hour, -time.Second, 38 * year} {
		c.add(jump)
		e := storetest.New(t, fmt.Sprint("jump", i), 5000)
		put(t, s, e, store.Stored)
		all = append(all, e)
		for _, e := range all {
			wantHit(t, s, e)
		}
		settled(s)
	}
	wantClean(t, s)
	if st, err := s.GC(bg, GCOptions{}, nil); err != nil {
		t.Errorf("gc: %v, %+v", err, st)
	}
	for _, e := range all {
		wantHit(t, s, e)
	}
	c.add(60 * 24 * time.Hour)
	if _, err := s.GC(bg, GCOptions{MaxAge: 30 * 24 * time.Hour}, nil); err != nil {
		t.Error(err)
	}
	wantMiss(t, s, all[3].Key, reason.MissAbsent)
}

// TestManyEntriesThenGC: 200,000 entries, and gc to a part of them.
func TestManyEntriesThenGC(t *testing.T) {
	timing.Long(t)
	if raceEnabled {
		t.Skip("one thread, for minutes: make full-long runs it")
	}
	const entries = 200_000
	s := open(t, func(o *Options) {
		if _, err := os.Stat("/dev/shm"); err == nil { // a disk makes a million files slowly
			dir, err := os.MkdirTemp("/dev/shm", "kernstash-many-")
			must(t, err)
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			o.Dir = dir
		}
	})
	var last *store.Entry
	for i := range entries {
		last = storetest.New(t, fmt.Sprint("entry", i), 10)
		put(t, s, last, store.Stored)
	}
	begin := time.Now()
	r, err := s.GC(bg, GCOptions{}, nil)
	if err != nil || r.Entries != entries {
		t.Fatalf("gc: %v, %d entries, want %d", err, r.Entries, entries)
	}
	t.Logf("gc of %d entries, %d bytes: %v", r.Entries, r.Bytes, time.Since(begin))
	begin = time.Now()
	if r, err = s.GC(bg, GCOptions{MaxSize: r.Bytes / 2}, nil); err != nil {
		t.Fatal(err)
	}
	t.Logf("gc to half of it: %v, %+v", time.Since(begin), r)
	wantHit(t, s, last)
	wantClean(t, s)
}
