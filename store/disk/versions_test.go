//go:build linux

package disk

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/store"
)

// TestOtherVersionsAreBeyondTheLimit: however much another version keeps here,
// nothing of it goes, none of our entries goes for it, and puts go on.
func TestOtherVersionsAreBeyondTheLimit(t *testing.T) {
	t.Parallel()
	const limit, size = 6 * each, 1000
	s := open(t)
	var others []*store.Entry
	for i := range 9 {
		e := sized(t, s, fmt.Sprint("other", i), size)
		put(t, s, e, store.Stored)
		must(t, otherVersion(binPath(s, e.Key)))
		must(t, otherVersion(srcPath(s, e.Key)))
		others = append(others, e)
	}
	must(t, s.Close())
	o := s.o
	o.MaxSize = limit
	s = New(o)
	defer s.Close()
	// The account still holds what is of another version now: the first put
	// is dropped, and has it counted.
	if _, err := s.Put(bg, sized(t, s, "first", size)); err == nil {
		t.Error("the first put was not dropped")
	}
	settled(s)
	var ours []*store.Entry
	for i := range 6 {
		ours = append(ours, sized(t, s, fmt.Sprint("our", i), size))
		put(t, s, ours[i], store.Stored)
		settled(s)
	}
	for _, e := range ours {
		wantHit(t, s, e)
	}
	if st := s.Status(); st.Bytes != 6*each || !strings.Contains(st.Reason, "another version") {
		t.Errorf("status %+v", st)
	}
	put(t, s, sized(t, s, "one more", size), store.Stored) // two thirds stay
	settled(s)
	if st := s.Status(); st.Bytes != 4*each || st.Entries != 4 {
		t.Errorf("status %+v", st)
	}
	for _, e := range others {
		if !exists(binPath(s, e.Key)) || !exists(srcPath(s, e.Key)) {
			t.Error("an entry of another version is gone")
		}
	}
	for name, sweep := range map[string]func() (Report, error){
		"verify": func() (Report, error) { return s.Verify(bg, true, nil) },
		"gc":     func() (Report, error) { return s.GC(bg, GCOptions{MaxSize: 1 << 30}, nil) },
		"clear":  func() (Report, error) { return s.Clear(bg, func(store.Info) bool { return false }, nil) },
	} {
		if r, err := sweep(); err != nil || r.Entries != 13 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if st := s.Status(); st.Bytes != 4*each || st.Entries != 4 {
			t.Errorf("after %s: status %+v", name, st)
		}
	}
	r, err := s.GC(bg, GCOptions{MaxSize: 5 * each}, nil) // which is for all
	if err != nil || r.Removed != 8 {
		t.Errorf("gc: %+v, %v", r, err)
	}
	if r, st := wantClean(t, s), s.Status(); st.Entries != r.Entries-r.OtherVersions {
		t.Errorf("after gc: %d entries of which %d are of another version, status %+v", r.Entries, r.OtherVersions, st)
	}
}
