package disk

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
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

func (v *vetter) Vet(k key.Key, seal []byte, bin io.Reader) error {
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

func (v *vetter) VetBlob(name key.Digest, seal, content []byte) error {
	return v.Vet(key.Key{}, seal, bytes.NewReader(content))
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
	s := New(Options{Dir: filepath.Join(t.TempDir(), "root"), Vetter: v})
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
	if _, err := s.GetFirst(bg, e.Key, new(store.Buffer)); missReasonOf(err) != reason.MissUntrusted {
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
			s := New(Options{Dir: filepath.Join(t.TempDir(), "root"), Vetter: &vetter{words: "one"}})
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

// TestVetManifests: as TestVet, of manifests.
func TestVetManifests(t *testing.T) {
	t.Parallel()
	v := &vetter{words: "one"}
	s := New(Options{Dir: filepath.Join(t.TempDir(), "root"), Vetter: v})
	defer s.Close()
	plain := New(Options{Dir: s.o.Dir})
	defer plain.Close()
	name, content := key.Digest{1}, []byte("a manifest")
	get := func(s *Store) string {
		t.Helper()
		b, err := s.GetBlob(bg, store.Manifests, name)
		if err != nil {
			return missReasonOf(err).String()
		}
		return string(b)
	}
	want := func(of, plainly string) {
		t.Helper()
		if got := get(s); got != of {
			t.Errorf("%q, want %q", got, of)
		}
		if got := get(plain); got != plainly {
			t.Errorf("for who does not ask: %q, want %q", got, plainly)
		}
	}
	if err := s.PutBlob(bg, store.Manifests, name, content); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("without a seal: %v", err)
	}
	if err := s.PutSealedBlob(bg, store.Manifests, name, content, []byte("two")); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("with another: %v", err)
	}
	want(reason.MissAbsent.String(), reason.MissAbsent.String())
	must(t, s.PutSealedBlob(bg, store.Manifests, name, content, []byte("one")))
	want("a manifest", "a manifest")
	must(t, s.PutBlob(bg, store.Manifests, name, content)) // it is there
	want("a manifest", "a manifest")
	if err := s.PutBlob(bg, store.Manifests, name, []byte("other")); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("another in its place: %v", err)
	}
	v.set("two")
	want(reason.MissUntrusted.String(), "a manifest")
	must(t, s.PutSealedBlob(bg, store.Manifests, name, content, []byte("two")))
	want("a manifest", "a manifest")
	must(t, plain.PutBlob(bg, store.Manifests, name, content))
	want(reason.MissUntrusted.String(), "a manifest")
	v.set("")
	want("a manifest", "a manifest")
	for _, b := range []string{sealMagic, sealMagic + "\xff\xff\xff\xff", sealMagic + "\x04\x00\x00\x00one", sealMagic + "\x00\x30\x00\x00" + strings.Repeat("x", 0x4000)} {
		must(t, plain.PutBlob(bg, store.Manifests, name, []byte(b)))
		want(b, b) // no seal, nor a manifest
	}
	if err := s.PutSealedBlob(bg, store.Headers, name, nil, []byte("one")); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("a header: %v", err)
	}
	if err := s.PutSealedBlob(bg, store.Manifests, name, nil, make([]byte, 9<<10)); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("a large seal: %v", err)
	}
}

// FuzzSealedManifest: what a file is split into is in it.
func FuzzSealedManifest(f *testing.F) {
	f.Add([]byte(sealMagic + "\x03\x00\x00\x00onemanifest"))
	f.Add([]byte("manifest"))
	f.Fuzz(func(t *testing.T, b []byte) {
		seal, content := splitSeal(b)
		if !bytes.HasSuffix(b, content) || seal == nil && len(content) != len(b) || seal != nil && len(seal)+len(content)+len(sealMagic)+4 != len(b) {
			t.Errorf("%q, %q", seal, content)
		}
	})
}
