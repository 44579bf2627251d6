//go:build linux

package disk

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
	"github.com/kernstash/kernstash/store/disk/internal/shared"
	"github.com/kernstash/kernstash/store/storetest"
)

// withFiles returns an entry whose recipe reads a header file of each content.
func withFiles(t testing.TB, seed string, contents ...string) *store.Entry {
	t.Helper()
	u := key.Unit{Kind: key.OpenCLC, Code: []byte("#include <h> // " + seed)}
	headers := make(map[key.Digest][]byte)
	for i, c := range contents {
		d := key.Digest(sha256.Sum256([]byte(c)))
		headers[d] = []byte(c)
		u.Includes = append(u.Includes, key.Include{Name: "<h>", File: i})
		u.Files = append(u.Files, key.File{Path: "/inc/" + c, Digest: d, Size: int64(len(c))})
	}
	img, err := new(key.Image).Tracked([]key.Unit{u})
	must(t, err)
	e := storetest.Entry(&key.Recipe{Device: storetest.Device(), Image: img}, seed, 100)
	e.Headers = headers
	return e
}

func digestOf(content string) key.Digest { return sha256.Sum256([]byte(content)) }

func blobFile(s *Store, kind store.Kind, d key.Digest) string {
	return filepath.Join(s.o.Dir, shared.Blob(kind, d).Path())
}

func wantHeader(t testing.TB, s *Store, content string) {
	t.Helper()
	if b, err := s.GetBlob(bg, store.Headers, digestOf(content)); err != nil || string(b) != content {
		t.Errorf("header %q: %q, %v", content, b, err)
	}
	if !s.HasBlob(store.Headers, digestOf(content), int64(len(content))) {
		t.Errorf("header %q is not there", content)
	}
}

func wantNoHeader(t testing.TB, s *Store, content string, why reason.Reason) {
	t.Helper()
	b, err := s.GetBlob(bg, store.Headers, digestOf(content))
	var m *store.MissError
	if !errors.As(err, &m) || m.Reason != why {
		t.Errorf("header %q: %q, %v; want a miss for %v", content, b, err, why)
	}
}

// TestHeadersAreKeptOnce: entries share them, and a better form needs none.
func TestHeadersAreKeptOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	a, b := withFiles(t, "a", "one", "two"), withFiles(t, "b", "two", "")
	wantNoHeader(t, s, "one", reason.MissAbsent)
	put(t, s, a, store.Stored)
	before, err := os.Stat(blobFile(s, store.Headers, digestOf("two")))
	must(t, err)
	put(t, s, b, store.Stored)
	after, err := os.Stat(blobFile(s, store.Headers, digestOf("two")))
	must(t, err)
	if !os.SameFile(before, after) || after.Mode().Perm() != 0o600 {
		t.Errorf("a second user wrote it again, mode %v", after.Mode())
	}
	for _, c := range []string{"one", "two", ""} {
		wantHeader(t, s, c)
	}
	better := *withFiles(t, "a", "one", "two")
	better.Headers = nil
	artifact := *better.Artifact
	artifact.Variants = []string{"8-1-1"}
	better.Artifact = &artifact
	put(t, s, &better, store.Bettered)
	wantHeader(t, s, "one")
	wantClean(t, s)
}

// TestBadHeadersAreMissesOnly: the entries hit all the same, and the next put
// repairs what it can tell without reading.
func TestBadHeadersAreMissesOnly(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		damage   func(t *testing.T, path string)
		why      reason.Reason
		repaired bool
	}{
		{"gone", func(t *testing.T, path string) { must(t, os.Remove(path)) }, reason.MissAbsent, true},
		{"longer", func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte("one!"), 0o600)) }, reason.MissDigest, true},
		{"empty", func(t *testing.T, path string) { must(t, os.WriteFile(path, nil, 0o600)) }, reason.MissDigest, true},
		{"flipped", func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte("onE"), 0o600)) }, reason.MissDigest, false},
		{"a hole", func(t *testing.T, path string) { must(t, os.Truncate(path, maxBlob[store.Headers])) }, reason.MissDigest, true},
		{"a large hole", func(t *testing.T, path string) { must(t, os.Truncate(path, 1<<40)) }, reason.MissUnreadable, false},
		{"writable by others", func(t *testing.T, path string) { must(t, os.Chmod(path, 0o666)) }, reason.MissIrregular, true},
		{"a link", func(t *testing.T, path string) {
			must(t, os.Rename(path, path+"x"))
			must(t, os.Symlink(path+"x", path))
		}, reason.MissIrregular, true},
		{"a FIFO", func(t *testing.T, path string) {
			must(t, os.Remove(path))
			must(t, syscall.Mkfifo(path, 0o600))
		}, reason.MissIrregular, true},
		{"a directory", func(t *testing.T, path string) {
			must(t, os.Remove(path))
			must(t, os.Mkdir(path, 0o700))
		}, reason.MissIrregular, false},
		{"the directory is a file", func(t *testing.T, path string) {
			dir := filepath.Dir(filepath.Dir(path))
			must(t, os.RemoveAll(dir))
			must(t, os.WriteFile(dir, nil, 0o600))
		}, reason.MissIrregular, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			e := withFiles(t, "a", "one")
			put(t, s, e, store.Stored)
			tt.damage(t, blobFile(s, store.Headers, digestOf("one")))
			wantNoHeader(t, s, "one", tt.why)
			wantHit(t, s, e)
			other := withFiles(t, "b", "one")
			put(t, s, other, store.Stored)
			wantHit(t, s, other)
			if tt.repaired {
				wantHeader(t, s, "one")
			}
		})
	}
}

// TestWrongContentIsNotKept: a header's name is its content's digest.
func TestWrongContentIsNotKept(t *testing.T) {
	t.Parallel()
	s := open(t)
	e := withFiles(t, "a", "one")
	e.Headers[digestOf("one")] = []byte("two")
	put(t, s, e, store.Stored)
	wantNoHeader(t, s, "one", reason.MissAbsent)
}

// TestGCCollectsHeaders: with the last recipe that names them, and not before
// they are an hour old, as a recipe may be on its way.
func TestGCCollectsHeaders(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := open(t, func(o *Options) { o.Now = c.now })
	a, b := withFiles(t, "a", "one", "two"), withFiles(t, "b", "two", "three")
	put(t, s, a, store.Stored)
	put(t, s, b, store.Stored)
	gc := func(o GCOptions, headers int64) {
		t.Helper()
		r, err := s.GC(bg, o, nil)
		if err != nil || r.Headers != headers {
			t.Errorf("gc: %d headers, %v; want %d", r.Headers, err, headers)
		}
	}
	must(t, s.Delete(bg, a.Key))
	gc(GCOptions{}, 0)
	c.add(orphanAge + time.Minute)
	gc(GCOptions{DryRun: true}, 1)
	wantHeader(t, s, "one")
	gc(GCOptions{}, 1)
	wantNoHeader(t, s, "one", reason.MissAbsent)
	wantHeader(t, s, "two")
	wantHeader(t, s, "three")

	// One that a put has found there is not collected under it.
	must(t, s.Delete(bg, b.Key))
	put(t, s, withFiles(t, "c", "three"), store.Stored)
	must(t, s.Delete(bg, withFiles(t, "c", "three").Key))
	gc(GCOptions{}, 1)
	wantHeader(t, s, "three")
	c.add(orphanAge + time.Minute)

	// A recipe of another version may name any.
	d := withFiles(t, "d", "four")
	put(t, s, d, store.Stored)
	c.add(orphanAge + time.Minute)
	must(t, otherVersion(srcPath(s, d.Key)))
	gc(GCOptions{}, 0)
	wantHeader(t, s, "three")
	must(t, os.WriteFile(srcPath(s, d.Key), []byte("damaged"), 0o600))
	gc(GCOptions{}, 2)
	if list, err := os.ReadDir(filepath.Join(s.o.Dir, rootdir.MetaDir, string(store.Headers))); err != nil || len(list) > 0 {
		t.Errorf("left: %v, %v", list, err)
	}
}

// TestVerifyReadsHeaders, and removes damaged ones.
func TestVerifyReadsHeaders(t *testing.T) {
	t.Parallel()
	s := open(t)
	put(t, s, withFiles(t, "a", "one", "two"), store.Stored)
	must(t, os.WriteFile(blobFile(s, store.Headers, digestOf("one")), []byte("onE"), 0o600))
	for _, repair := range []bool{false, true} {
		r, err := s.Verify(bg, repair, nil)
		if err != nil || r.BadHeaders != 1 || len(r.Problems) != 1 || r.Problems[0].Repaired != repair {
			t.Errorf("verify: %+v, %v", r, err)
		}
	}
	wantNoHeader(t, s, "one", reason.MissAbsent)
	wantHeader(t, s, "two")
	wantClean(t, s)
}

func TestClearRemovesHeadersAndManifests(t *testing.T) {
	t.Parallel()
	s := open(t)
	put(t, s, withFiles(t, "a", "one"), store.Stored)
	must(t, s.PutBlob(bg, store.Manifests, digestOf("m"), []byte("manifest")))
	if r, err := s.Clear(bg, func(store.Info) bool { return true }, nil); err != nil || r.Headers+r.Manifests != 0 {
		t.Errorf("clear of some: %+v, %v", r, err)
	}
	if r, err := s.Clear(bg, nil, nil); err != nil || r.Headers != 1 || r.Manifests != 1 || r.RemovedBytes != r.Bytes {
		t.Errorf("clear of all: %+v, %v", r, err)
	}
	wantNoHeader(t, s, "one", reason.MissAbsent)
}

func TestManifests(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := open(t, func(o *Options) { o.Now = c.now })
	name := digestOf("name")
	want := func(text string) {
		t.Helper()
		if b, err := s.GetBlob(bg, store.Manifests, name); err != nil || string(b) != text {
			t.Errorf("manifest %q, %v; want %q", b, err, text)
		}
	}
	missing := func(why reason.Reason) {
		t.Helper()
		_, err := s.GetBlob(bg, store.Manifests, name)
		var m *store.MissError
		if !errors.As(err, &m) || m.Reason != why {
			t.Errorf("manifest: %v, want a miss for %v", err, why)
		}
	}
	missing(reason.MissAbsent)
	must(t, s.PutBlob(bg, store.Manifests, name, []byte("one")))
	want("one")
	must(t, s.PutBlob(bg, store.Manifests, name, []byte("two")))
	want("two")
	if err := s.PutBlob(bg, store.Manifests, name, make([]byte, maxBlob[store.Manifests]+1)); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	want("two")

	path := blobFile(s, store.Manifests, name)
	must(t, os.Remove(path))
	must(t, syscall.Mkfifo(path, 0o600))
	missing(reason.MissIrregular)
	must(t, s.PutBlob(bg, store.Manifests, name, []byte("three")))
	want("three")

	// Use keeps one alive, for the age that GC is given.
	gc := func(age time.Duration, removed int64) {
		t.Helper()
		if r, err := s.GC(bg, GCOptions{MaxAge: age}, nil); err != nil || r.Manifests != removed {
			t.Errorf("gc: %d manifests, %v; want %d", r.Manifests, err, removed)
		}
	}
	c.add(40 * time.Hour)
	want("three")
	c.add(40 * time.Hour)
	gc(0, 0)
	gc(48*time.Hour, 0)
	c.add(9 * time.Hour)
	gc(48*time.Hour, 1)
	missing(reason.MissAbsent)

	must(t, os.RemoveAll(s.o.Dir))
	must(t, s.PutBlob(bg, store.Manifests, name, []byte("four")))
	want("four")
}

// TestManifestsTogether: readers see a whole one, whoever writes.
func TestManifestsTogether(t *testing.T) {
	t.Parallel()
	s := open(t)
	name := digestOf("name")
	var all sync.WaitGroup
	for i := range 8 {
		text := bytes.Repeat([]byte{byte('a' + i)}, 5000+i)
		all.Go(func() {
			for range 20 {
				if err := s.PutBlob(bg, store.Manifests, name, text); err != nil {
					t.Error(err)
				}
				b, err := s.GetBlob(bg, store.Manifests, name)
				if err != nil || len(b) != 5000+int(b[0]-'a') || strings.Trim(string(b), string(b[:1])) != "" {
					t.Errorf("%d bytes, %v", len(b), err)
				}
			}
		})
	}
	all.Wait()
}

func TestReadOnlyLayersKeepNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	put(t, s, withFiles(t, "a", "one"), store.Stored)
	layer := open(t, func(o *Options) { o.Dir, o.ReadOnly = s.o.Dir, true })
	wantHeader(t, layer, "one")
	if err := layer.PutBlob(bg, store.Manifests, digestOf("m"), []byte("x")); !errors.Is(err, os.ErrPermission) {
		t.Errorf("put in a layer: %v", err)
	}
}

// TestBlobs: the names of one kind, where there are any.
func TestBlobs(t *testing.T) {
	t.Parallel()
	s := open(t)
	list := func() map[key.Digest]bool {
		all := make(map[key.Digest]bool)
		for name, err := range s.Blobs(t.Context(), store.Manifests) {
			must(t, err)
			all[name] = true
		}
		return all
	}
	if got := list(); len(got) != 0 {
		t.Errorf("of an empty root: %v", got)
	}
	want := map[key.Digest]bool{{1}: true, {1, 2}: true, {0xff}: true}
	for name := range want {
		must(t, s.PutBlob(t.Context(), store.Manifests, name, []byte("m")))
	}
	must(t, s.PutBlob(t.Context(), store.Headers, sha256.Sum256(nil), nil))
	if got := list(); !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	for range s.Blobs(t.Context(), store.Manifests) {
		break
	}
}
