//go:build linux

package disk

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/storetest"
)

func flip(at int64) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		b, err := os.ReadFile(path)
		must(t, err)
		if at < 0 {
			at += int64(len(b))
		}
		b[at] ^= 1
		must(t, os.WriteFile(path, b, 0o600))
	}
}

func replaceBy(make func(path string) error) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		must(t, os.Remove(path))
		must(t, make(path))
	}
}

// TestDamageIsAMissAndIsRepaired: whatever is in the place of an entry is a
// miss with its reason, and the next put stores a good one (DPC++ 4 and 6; a
// zero-length or truncated clBLAS entry; NEO lets the build fail).
func TestDamageIsAMissAndIsRepaired(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		damage func(t *testing.T, path string)
		want   reason.Reason
	}{
		"removed, only .src present": {replaceBy(func(string) error { return nil }), reason.MissAbsent},
		"empty":                      {func(t *testing.T, p string) { must(t, os.Truncate(p, 0)) }, reason.MissTruncated},
		"cut in the header":          {func(t *testing.T, p string) { must(t, os.Truncate(p, 100)) }, reason.MissTruncated},
		"cut in the code":            {func(t *testing.T, p string) { must(t, os.Truncate(p, 20_000)) }, reason.MissTruncated},
		"longer":                     {func(t *testing.T, p string) { must(t, os.Truncate(p, 60_000)) }, reason.MissTruncated},
		"sparse and huge":            {func(t *testing.T, p string) { must(t, os.Truncate(p, 3<<30)) }, reason.MissTruncated},
		"a hole of 3 GiB": {replaceBy(func(p string) error {
			f, err := os.Create(p)
			if err == nil {
				err = f.Truncate(3 << 30)
				f.Close()
			}
			return err
		}), reason.MissForeign},
		"key":             {flip(20), reason.MissDigest},
		"header digest":   {flip(280), reason.MissDigest},
		"code":            {flip(-1), reason.MissDigest},
		"magic":           {flip(0), reason.MissForeign},
		"text":            {replaceBy(func(p string) error { return os.WriteFile(p, []byte("hello"), 0o600) }), reason.MissForeign},
		"symbolic link":   {replaceBy(func(p string) error { return os.Symlink("/etc/hostname", p) }), reason.MissIrregular},
		"dangling link":   {replaceBy(func(p string) error { return os.Symlink("nowhere", p) }), reason.MissIrregular},
		"FIFO":            {replaceBy(func(p string) error { return syscall.Mkfifo(p, 0o600) }), reason.MissIrregular},
		"owner":           {func(t *testing.T, p string) { giveAway(t, p) }, reason.MissIrregular},
		"group may write": {func(t *testing.T, p string) { must(t, os.Chmod(p, 0o620)) }, reason.MissIrregular},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var counts stats.Counters
			s := open(t, func(o *Options) { o.Recorder = &counts })
			e := storetest.New(t, "e", 50_000)
			put(t, s, e, store.Stored)
			path := binPath(s, e.Key)
			test.damage(t, path)
			wantMiss(t, s, e.Key, test.want)
			want := store.Bettered
			if test.want == reason.MissAbsent {
				want = store.Stored
			}
			put(t, s, e, want)
			wantHit(t, s, e)
			if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o600 {
				t.Errorf("repaired file: %v, %v", info, err)
			}
			if r := wantClean(t, s); r.Entries != 1 {
				t.Errorf("%d entries", r.Entries)
			}
			corrupt := map[reason.Reason]bool{reason.MissTruncated: true, reason.MissForeign: true, reason.MissDigest: true}
			if got := counts.Snapshot().Get(stats.Corrupt); (got > 0) != corrupt[test.want] {
				t.Errorf("%d counted as corrupt", got)
			}
		})
	}
}

// TestDirectoryInPlaceOfEntry: it is not ours to remove, so another number is
// used.
func TestDirectoryInPlaceOfEntry(t *testing.T) {
	t.Parallel()
	s := open(t)
	e := storetest.New(t, "e", 100)
	put(t, s, e, store.Stored)
	path := binPath(s, e.Key)
	must(t, os.Remove(path))
	must(t, os.MkdirAll(filepath.Join(path, "inside"), 0o700))
	wantMiss(t, s, e.Key, reason.MissIrregular)
	put(t, s, e, store.Stored)
	wantHit(t, s, e)
	must(t, s.Delete(bg, e.Key))
	if _, err := s.Clear(bg, nil, nil); err != nil {
		t.Fatal(err)
	}
	if !exists(filepath.Join(path, "inside")) {
		t.Error("somebody's directory was removed")
	}
}

// TestOnlyBinIsAHit: by design, and unlike DPC++ 4, .bin alone decides.
// What needs the recipe says that it is lost.
func TestOnlyBinIsAHit(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, path string){
		"removed": func(t *testing.T, p string) { must(t, os.Remove(p)) },
		"empty":   func(t *testing.T, p string) { must(t, os.Truncate(p, 0)) },
		"flipped": flip(-1),
		"link":    replaceBy(func(p string) error { return os.Symlink("/etc/hostname", p) }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			e := storetest.New(t, "e", 100)
			put(t, s, e, store.Stored)
			if r, err := s.Recipe(bg, e.Key); err != nil || r.Key() != e.Key {
				t.Fatalf("recipe: %v", err)
			}
			damage(t, srcPath(s, e.Key))
			wantHit(t, s, e)
			if r, err := s.Recipe(bg, e.Key); err == nil {
				t.Errorf("recipe %v of a damaged file", r)
			}
			r, err := s.Verify(bg, true, nil)
			if err != nil || r.LostRecipes != 1 || r.Damaged != 0 || r.Removed != 0 {
				t.Errorf("verify: %+v, %v; want one lost recipe", r, err)
			}
			wantHit(t, s, e)
		})
	}
}

// TestUnreadableIsReplaced: DPC++ 6. The test runs as root too, which may read
// everything, so a child without rights does it.
func TestUnreadableIsReplaced(t *testing.T) {
	t.Parallel()
	asUser(t, func(t *testing.T) {
		s := open(t)
		e := storetest.New(t, "e", 100)
		put(t, s, e, store.Stored)
		must(t, os.Chmod(binPath(s, e.Key), 0))
		wantMiss(t, s, e.Key, reason.MissUnreadable)
		put(t, s, e, store.Bettered)
		wantHit(t, s, e)
		must(t, os.Chmod(srcPath(s, e.Key), 0))
		wantHit(t, s, e)
	})
}

// TestUnknownVersionIsNotTouched: two versions of kernstash share a root. The
// files of the other are misses, stay, and another number is used.
func TestUnknownVersionIsNotTouched(t *testing.T) {
	t.Parallel()
	s := open(t)
	e := storetest.New(t, "e", 100)
	put(t, s, e, store.Stored)
	other := map[string][]byte{}
	for _, path := range []string{binPath(s, e.Key), srcPath(s, e.Key)} {
		b, err := os.ReadFile(path)
		must(t, err)
		b[len("kstbin\r\n")] = format.Version + 1
		must(t, os.WriteFile(path, b, 0o600))
		other[path] = b
	}
	wantMiss(t, s, e.Key, reason.MissVersion)
	put(t, s, e, store.Stored)
	wantHit(t, s, e)
	put(t, s, e, store.Existing)
	must(t, s.Delete(bg, e.Key))
	r, err := s.Verify(bg, true, nil)
	if err != nil || r.OtherVersions != 1 || r.Damaged != 0 {
		t.Errorf("verify: %+v, %v; want one of another version", r, err)
	}
	for path, want := range other {
		if b, err := os.ReadFile(path); err != nil || string(b) != string(want) {
			t.Errorf("%s was changed or removed: %v", filepath.Base(path), err)
		}
	}
	// An orphaned recipe of another version keeps its number as well.
	must(t, os.Remove(binPath(s, e.Key)))
	put(t, s, e, store.Stored)
	if b, err := os.ReadFile(srcPath(s, e.Key)); err != nil || string(b) != string(other[srcPath(s, e.Key)]) {
		t.Errorf("the other version's recipe was changed: %v", err)
	}
	wantHit(t, s, e)
}

// TestEntryBeingWrittenIsAMiss: a recipe without its .bin, a temporary file, a
// young orphan: a miss for readers, and writers do not wait (DPC++ 5).
func TestEntryBeingWrittenIsAMiss(t *testing.T) {
	t.Parallel()
	s := open(t)
	e := storetest.New(t, "e", 100)
	put(t, s, e, store.Stored)
	must(t, os.Remove(binPath(s, e.Key)))
	must(t, os.WriteFile(filepath.Join(s.o.Dir, ".meta/tmp/put.1.0"), []byte("half"), 0o600))
	wantMiss(t, s, e.Key, reason.MissAbsent)
	for range mustList(t, s) {
		t.Error("a half-written entry is listed")
	}
	put(t, s, e, store.Stored)
	wantHit(t, s, e)
}

func mustList(t testing.TB, s *Store) (list []store.Info) {
	t.Helper()
	for info, err := range s.List(bg) {
		must(t, err)
		list = append(list, info)
	}
	return list
}

// TestListShowsDamage: damaged entries are yielded with Bad set.
func TestListShowsDamage(t *testing.T) {
	t.Parallel()
	s := open(t)
	good, bad := storetest.New(t, "good", 100), storetest.New(t, "bad", 100)
	put(t, s, good, store.Stored)
	put(t, s, bad, store.Stored)
	must(t, os.Truncate(binPath(s, bad.Key), 50))
	n := 0
	for _, info := range mustList(t, s) {
		if info.Bad != nil {
			n++
		} else if info.Key != good.Key {
			t.Error("the damaged entry is called good")
		}
	}
	if n != 1 {
		t.Errorf("%d damaged entries listed, want 1", n)
	}
}
