//go:build linux

package disk

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/evict"
)

// spoilAccount puts what cannot be read in the place of the account.
var spoilAccount = map[string]func(t *testing.T, path string){
	"another version": func(t *testing.T, path string) { must(t, otherVersion(path)) },
	"a directory": func(t *testing.T, path string) {
		must(t, os.Remove(path))
		must(t, os.Mkdir(path, 0o700))
		must(t, os.WriteFile(filepath.Join(path, "mine"), nil, 0o600))
	},
}

// TestUnreadableAccount: the limit is kept by counting, and sweeps run; those
// that may begin again.
func TestUnreadableAccount(t *testing.T) {
	t.Parallel()
	for name, spoil := range spoilAccount {
		for sweep, run := range map[string]func(s *Store) error{
			"gc":     func(s *Store) error { _, err := s.GC(bg, GCOptions{}, nil); return err },
			"clear":  func(s *Store) error { _, err := s.Clear(bg, nil, nil); return err },
			"verify": func(s *Store) error { _, err := s.Verify(bg, true, nil); return err },
		} {
			t.Run(name+"/"+sweep, func(t *testing.T) {
				t.Parallel()
				s := open(t, func(o *Options) { o.MaxSize = 6 * each })
				for i := range 6 {
					put(t, s, sized(t, s, fmt.Sprint(i), 1000), store.Stored)
				}
				must(t, s.Close())
				spoil(t, filepath.Join(s.o.Dir, ".meta/account"))
				s = New(s.o)
				defer s.Close()
				put(t, s, sized(t, s, "one more", 1000), store.Stored)
				settled(s)
				if r := wantClean(t, s); r.Bytes != 4*each {
					t.Errorf("%d bytes are left, want two thirds of the limit", r.Bytes)
				}
				if st := s.Status(); !st.On || st.Counted || !strings.Contains(st.Reason, "gc") {
					t.Errorf("status %+v", st)
				}
				must(t, run(s))
				r := wantClean(t, s)
				if st := s.Status(); sweep != "verify" && (st.Bytes != r.Bytes || st.Entries != r.Entries || !st.Counted || st.Reason != "") {
					t.Errorf("account %+v; there are %d bytes, %d entries", st, r.Bytes, r.Entries)
				}
			})
		}
	}
}

// TestNegativeAccount: it is taken for none, and counted anew.
func TestNegativeAccount(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *Options) { o.MaxSize = 100_000 })
	e := sized(t, s, "e", 1000)
	put(t, s, e, store.Stored)
	r, err := s.at.Acquire(false)
	must(t, err)
	defer r.Release()
	m, err := r.Meta()
	must(t, err)
	s.at.AccountAdd(m, evict.ShardOf(s.at.Names(e.Key)[1]), evict.Usage{Bytes: -1_000_000, Entries: -1000})
	if st := s.Status(); st.Counted || st.Bytes != 0 {
		t.Errorf("status %+v", st)
	}
	put(t, s, sized(t, s, "f", 1000), store.Stored)
	settled(s)
	if st := s.Status(); !st.Counted || st.Bytes != 2*each || st.Entries != 2 {
		t.Errorf("status %+v, want 2 entries of %d bytes", st, each)
	}
}
