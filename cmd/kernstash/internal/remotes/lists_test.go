package remotes

import (
	"bytes"
	"crypto/sha256"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/remote/remotetest"
)

// reading returns an entry that reads a header file, and its list.
func reading(t *testing.T, source, header string) (*store.Entry, key.Digest, []byte) {
	t.Helper()
	unit := key.Unit{
		Kind: key.OpenCLC, Code: []byte(source), Includes: []key.Include{{Name: `"a.h"`}},
		Files: []key.File{{Path: "/src/a.h", Size: int64(len(header)), Digest: sha256.Sum256([]byte(header))}},
	}
	image, err := new(key.Image).Tracked([]key.Unit{unit})
	if err != nil {
		t.Fatal(err)
	}
	e := entry(t, source, "1", 10)
	e.Recipe.Image = image
	e.Key = e.Recipe.Key()
	name := key.Digest(sha256.Sum256([]byte(source)))
	read := manifest.Read{Path: "/src/a.h", Settled: true}
	read.Stamp.Size, read.Stamp.Mtime = int64(len(header)), 7
	return e, name, manifest.New(unit, 0, []manifest.Read{read}, nil).Append(nil, name)
}

// TestLists: lists of header files go along with the entries that need them, without what only this machine knows, and no others do.
func TestLists(t *testing.T) {
	t.Parallel()
	newDisk := func() *disk.Store {
		d := disk.New(disk.Options{Dir: filepath.Join(t.TempDir(), "root")})
		t.Cleanup(func() { d.Close() })
		return d
	}
	d := newDisk()
	e, name, list := reading(t, "x", "one")
	other, otherName, otherList := reading(t, "y", "another")
	for _, err := range []error{
		d.PutBlob(t.Context(), store.Manifests, name, list), d.PutBlob(t.Context(), store.Manifests, otherName, otherList),
		d.PutBlob(t.Context(), store.Manifests, key.Digest{1}, []byte("damaged")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range []*store.Entry{e, other, entry(t, "z", "1", 10)} {
		if _, err := d.Put(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	has := func(c *Chain, name key.Digest, want bool) {
		t.Helper()
		b, err := c.Tiers[0].Store.GetBlob(t.Context(), store.Manifests, name)
		if (err == nil) != want || want && (bytes.Contains(b, list) || !bytes.Contains(b, []byte("/src/a.h"))) {
			t.Errorf("%v, want it: %v", err, want)
		}
	}

	// By push, what is selected.
	pushed := chain(remote.Options{}, new(remotetest.Memory))
	lists, err := ReadLists(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	for _, stored := range []int64{1, 0} {
		m, names, err := pushTo(t.Context(), pushed.Tiers[0], d, lists, []store.Info{{Key: e.Key}}, false, func(int64) {})
		if err != nil || m.Lists != stored || !slices.Equal(names, []key.Digest{name}) {
			t.Errorf("%+v, %v, %v", m, names, err)
		}
	}
	has(pushed, name, true)
	has(pushed, otherName, false)

	// By a worker's uploads.
	uploaded := chain(remote.Options{}, new(remotetest.Memory))
	if out := Uploader(uploaded, d)(t.Context(), other.Key); out.State != spool.JobStored {
		t.Errorf("%+v", out)
	}
	has(uploaded, otherName, true)
	has(uploaded, name, false)

	// To who pulls what needs them.
	if _, _, err := pushTo(t.Context(), pushed.Tiers[0], d, lists, []store.Info{{Key: other.Key}}, false, func(int64) {}); err != nil {
		t.Fatal(err)
	}
	second := newDisk()
	if n, err := pullLists(t.Context(), pushed.Tiers[0], second, map[key.Digest]bool{sumOfFiles(e.Recipe.Image.Units()[0].Files): true}); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := second.GetBlob(t.Context(), store.Manifests, name); err != nil {
		t.Error(err)
	}
	if _, err := second.GetBlob(t.Context(), store.Manifests, otherName); err == nil {
		t.Error("a list that nothing here needs")
	}
}

// TestFetch: what an application uses comes into the cache.
func TestFetch(t *testing.T) {
	t.Parallel()
	c := chain(remote.Options{}, new(remotetest.Memory))
	e := entry(t, "x", "1", 10)
	if _, err := c.Tiers[0].Store.Put(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if l, err := putApp(t.Context(), c.Tiers[0], "app", []key.Digest{e.Key.Sum, {1}}, nil); err != nil || l.Entries != 1 || l.Absent != 1 {
		t.Fatalf("%+v, %v", l, err)
	}
	d := disk.New(disk.Options{Dir: filepath.Join(t.TempDir(), "root")})
	defer d.Close()
	if got := c.Fetch(t.Context(), d, "app"); got != (store.Prefetched{From: "memory://0", Listed: 1, Came: 1}) {
		t.Errorf("%+v", got)
	}
	if _, err := d.Get(t.Context(), e.Key); err != nil {
		t.Error(err)
	}
}
