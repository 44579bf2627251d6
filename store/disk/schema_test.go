//go:build linux

package disk

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"os"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// otherSchema makes a recipe one of a version with another key schema, as FORMAT.md
// describes both.
func otherSchema(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	body := b[format.SrcHeaderBytes:]
	number := body[len("kernstash recipe\x00")+1:]
	if got := binary.LittleEndian.Uint64(number); got != key.Schema {
		t.Fatalf("schema %d in the recipe, want %d", got, key.Schema)
	}
	binary.LittleEndian.PutUint64(number, key.Schema-1)
	sum := sha256.Sum256(body)
	copy(b[24:], sum[:])
	must(t, os.WriteFile(path, b, 0o600))
}

// TestEntriesOfAnotherKeySchema: two versions that share a root may make keys in two ways.
// What the other one stored is not damaged, and nobody takes its recipes or the header
// files that these name.
func TestEntriesOfAnotherKeySchema(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := open(t, func(o *Options) { o.Now = c.now })
	e := withFiles(t, "a", "one")
	put(t, s, e, store.Stored)
	otherSchema(t, srcPath(s, e.Key))
	before, err := os.ReadFile(srcPath(s, e.Key))
	must(t, err)
	c.add(orphanAge + time.Minute)
	for _, repair := range []bool{false, true} {
		r, err := s.Verify(bg, repair, nil)
		must(t, err)
		if r.OtherVersions != 1 || r.LostRecipes+r.Damaged+r.Orphans != 0 || len(r.Problems) > 0 {
			t.Errorf("repair %v: %+v", repair, r)
		}
	}
	r, err := s.GC(bg, GCOptions{}, nil)
	must(t, err)
	if r.Removed != 0 || r.Headers != 0 || len(r.Problems) > 0 {
		t.Errorf("gc: %+v", r)
	}
	after, err := os.ReadFile(srcPath(s, e.Key))
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the recipe: %v, changed %v", err, !bytes.Equal(before, after))
	}
	wantHeader(t, s, "one")
	if st := s.Status(); st.Entries != 1 {
		t.Errorf("account %+v", st)
	}
}
