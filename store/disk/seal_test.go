package disk

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/storetest"
)

// vetter lets pass what is sealed with the words that count, and has read all of the .bin.
type vetter struct {
	mu    sync.Mutex
	words string
	sizes []int
}

func (v *vetter) vet(k key.Key, seal []byte, bin io.Reader) error {
	b, err := io.ReadAll(bin)
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sizes = append(v.sizes, len(b))
	if string(seal) != v.words {
		return errors.New("other words")
	}
	return nil
}

func (v *vetter) set(words string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.words = words
}

func sealed(t *testing.T, name, words string) *store.Entry {
	e := storetest.New(t, name, 5000)
	e.Seal = &store.Seal{Head: []byte(words), Payload: []byte("not kept")}
	return e
}

// TestVet: what is not vouched for is a miss in every way to get it, is not put, and makes place.
func TestVet(t *testing.T) {
	t.Parallel()
	v := &vetter{words: "one"}
	s := New(Options{Dir: filepath.Join(t.TempDir(), "root"), Vet: v.vet})
	defer s.Close()
	open := func(k key.Key) error {
		f, _, err := s.Open(bg, k)
		if err == nil {
			f.Close()
		}
		return err
	}
	e := sealed(t, "e", "one")
	put(t, s, e, store.Stored)
	put(t, s, e, store.Existing)
	wantHit(t, s, e)
	must(t, open(e.Key))
	if got, err := s.Seal(bg, e.Key); err != nil || string(got) != "one" {
		t.Errorf("seal %q, %v", got, err)
	}
	v.set("two")
	wantMiss(t, s, e.Key, reason.MissUntrusted)
	if _, err := s.GetFirst(bg, e.Key); missReasonOf(err) != reason.MissUntrusted {
		t.Errorf("get first: %v", err)
	}
	if err := open(e.Key); missReasonOf(err) != reason.MissUntrusted {
		t.Errorf("open: %v", err)
	}
	for _, bad := range []*store.Entry{e, storetest.New(t, "e", 5000)} {
		if res, err := s.Put(bg, bad); res != store.Failed || !errors.Is(err, store.ErrInvalid) {
			t.Errorf("put: %v, %v", res, err)
		}
	}
	again := sealed(t, "e", "two")
	put(t, s, again, store.Bettered) // though it is no better
	wantHit(t, s, again)
	if status := s.Status(); status.Entries != 1 {
		t.Errorf("%d entries", status.Entries)
	}
	wantClean(t, s)

	plain := New(Options{Dir: s.o.Dir})
	defer plain.Close()
	v.set("nothing counts")
	wantHit(t, plain, again) // who does not ask
	put(t, plain, storetest.New(t, "e", 5000), store.Existing)
	if got, err := plain.Seal(bg, e.Key); err != nil || string(got) != "two" {
		t.Errorf("seal %q, %v", got, err)
	}
	unsealed := storetest.New(t, "unsealed", 10)
	put(t, plain, unsealed, store.Stored)
	if got, err := plain.Seal(bg, unsealed.Key); err != nil || got != nil {
		t.Errorf("seal %q, %v", got, err)
	}
	if _, err := plain.Seal(bg, storetest.New(t, "none", 1).Key); missReasonOf(err) != reason.MissAbsent {
		t.Errorf("%v", err)
	}
	v.set("")
	wantHit(t, s, unsealed) // whether one is needed is for Vet to say
}

func missReasonOf(err error) reason.Reason {
	if m, ok := errors.AsType[*store.MissError](err); ok {
		return m.Reason
	}
	return 0
}

// TestSpoiledSeal: a seal behind a recipe that is damaged, or in no file, does not count.
func TestSpoiledSeal(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(path string, b []byte) error{
		"gone":  func(path string, _ []byte) error { return os.Remove(path) },
		"empty": func(path string, _ []byte) error { return os.WriteFile(path, nil, 0o600) },
		"half":  func(path string, b []byte) error { return os.WriteFile(path, b[:len(b)/2], 0o600) },
		"without": func(path string, b []byte) error {
			return os.WriteFile(path, bytes.TrimSuffix(b, []byte("one")), 0o600)
		},
		"another":     func(path string, b []byte) error { return os.WriteFile(path, append(b, "more"...), 0o600) },
		"endless":     func(path string, b []byte) error { return os.Truncate(path, 1<<40) },
		"text":        func(path string, _ []byte) error { return os.WriteFile(path, []byte("text"), 0o600) },
		"a directory": func(path string, _ []byte) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
		"a link": func(path string, b []byte) error {
			return errors.Join(os.Rename(path, path+"x"), os.Symlink(path+"x", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := New(Options{Dir: filepath.Join(t.TempDir(), "root"), Vet: (&vetter{words: "one"}).vet})
			defer s.Close()
			e := sealed(t, "e", "one")
			put(t, s, e, store.Stored)
			b, err := os.ReadFile(srcPath(s, e.Key))
			must(t, err)
			must(t, spoil(srcPath(s, e.Key), b))
			wantMiss(t, s, e.Key, reason.MissUntrusted)
			if name != "a directory" { // which nobody removes
				put(t, s, e, store.Bettered)
				wantHit(t, s, e)
			}
		})
	}
}
