package kernstash

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/key"
)

// compiledImage returns the image of deep, as compiled says that it was compiled.
func compiledImage(t *testing.T, compiled func(device int) []key.Unit) *Image {
	t.Helper()
	m, err := NewImageSequence(key.Unit{Kind: key.OpenCLC, Code: []byte(deep)})
	if err != nil {
		t.Fatal(err)
	}
	m.scanned = engine.NewCompiledImage(m.Image, compiled)
	m.scanned.Owner = m
	return m
}

// An image of compiled units means the header files of then, and has the key that
// they make with the request for which they were looked at.
func TestCompiledImages(t *testing.T) {
	t.Parallel()
	dir := deepTree(t)
	x := fakeContextOn(openCache(t, newRoot(t)), newReader(t))
	then := deepRequest(t, dir)
	if x.session.Snapshot(then.engine()) != nil {
		t.Error("a snapshot of a request that nobody asked for")
	}
	first, err := x.Program(t.Context(), then)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Release()
	snapshot := x.session.Snapshot(then.engine())
	if snapshot == nil || snapshot.Changed() != "" {
		t.Fatalf("snapshot %v", snapshot)
	}
	if got := snapshot.Units(1); got != nil {
		t.Errorf("units of a device that is not there: %v", got)
	}

	header := filepath.Join(dir, "late/c.h")
	putFile(t, header, "other\n")
	if got := snapshot.Changed(); got != header {
		t.Errorf("changed: %q, want %q", got, header)
	}
	calls := 0
	linked := then
	linked.Image = compiledImage(t, func(device int) []key.Unit {
		calls++
		return snapshot.Units(device)
	})
	second, err := x.Program(t.Context(), linked)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Release()
	// It is linked, though of one unit: that alone differs.
	sequence, err := key.NewImageSequence(key.Unit{Kind: key.OpenCLC, Code: []byte(deep)})
	if err == nil {
		sequence, err = sequence.Tracked(snapshot.Units(0))
	}
	if err != nil {
		t.Fatal(err)
	}
	want := first.Key(0)
	want = key.New(want.Device, sequence.Digest(), want.Constants, want.Options)
	if diff := cmp.Diff(want, second.Key(0)); diff != "" || calls == 0 {
		t.Errorf("after %d calls, key (-then +linked):\n%s", calls, diff)
	}
	if x.session.Snapshot(linked.engine()) != nil {
		t.Error("a snapshot of what was compiled before")
	}

	// Of other code, or of none, it is not known what they read.
	for name, units := range map[string][]key.Unit{
		"none": nil, "other code": {{Kind: key.OpenCLC, Code: []byte(deep + "\n")}},
	} {
		r := then
		r.Image = compiledImage(t, func(int) []key.Unit { return units })
		p, err := x.Program(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if !p.Key(0).IsZero() {
			t.Errorf("%s: key %v", name, p.Key(0))
		}
		p.Release()
	}
}

// What reads header files is known without a search if these are as they were.
func TestKnownHeaders(t *testing.T) {
	t.Parallel()
	root, dir := newRoot(t), deepTree(t)
	c := openCache(t, root)
	x := fakeContextOn(c, newReader(t))
	known := func() bool {
		r := deepRequest(t, dir)
		found, err := x.session.BeginKnown(r.engine())
		if err != nil {
			t.Fatal(err)
		}
		if found == nil {
			return false
		}
		defer found.Abandon()
		return found.Group(0).Next(t.Context()).Kind == engine.Hit
	}
	if known() {
		t.Error("what nobody built")
	}
	p, err := x.Program(t.Context(), deepRequest(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	p.Release()
	flush(t, c)
	if !known() {
		t.Error("not what was stored")
	}
	putFile(t, filepath.Join(dir, "early/c.h"), "fresh\n")
	if known() {
		t.Error("with a fresh header on the search path")
	}
	if err := os.Remove(filepath.Join(dir, "early/c.h")); err != nil {
		t.Fatal(err)
	}
	if !known() {
		t.Error("not without it")
	}
}
