package trust

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The files of a list's directory: keys in files of this ending, and one of fingerprints.
const (
	keyEnding   = ".pem"
	revokedName = "revoked"
)

const (
	maxFile  = 1 << 20
	maxFiles = 4096
)

// reloadEvery is how long a list that is in use may lack what was changed in its directory.
const reloadEvery = 10 * time.Second

// List is the keys whose signatures count, and those that were revoked, which do not, whatever
// else is said of them. A list that cannot be read, or that others may write, trusts nothing:
// that is not the same as no list. A nil List is no list. It is safe for concurrent use.
type List struct {
	dir    string // "": it never changes
	named  bool
	now    func() time.Time
	lookup atomic.Pointer[state]
	read   sync.Mutex // held by who reads the directory
}

// state is what a list says at one time.
type state struct {
	read    time.Time
	trusted map[id]ed25519.PublicKey
	files   map[id]string // where a trusted key is, the last name of the path
	revoked map[id]bool
	err     error // why nothing is trusted
}

// id is the digest of a public key, which its fingerprint shows.
type id = [sha256.Size]byte

func idOf(k ed25519.PublicKey) id { return sha256.Sum256(k) }

// Of returns a list of these keys, and of no revoked ones.
func Of(keys ...ed25519.PublicKey) *List {
	s := &state{trusted: make(map[id]ed25519.PublicKey)}
	for _, k := range keys {
		s.trusted[idOf(k)] = bytes.Clone(k)
	}
	l := new(List)
	l.lookup.Store(s)
	return l
}

// Open returns the list of a directory. In it are public keys, one or more in a file whose name
// ends in .pem, and a file "revoked" of fingerprints, one a line, '#' beginning a comment. Names
// that begin with a dot do not count, and any other name is an error. Nobody but the user and root
// may be able to write the directory and its files, unless its file system is mounted read-only.
// A list that is in use is read again every few seconds.
//
// A directory that is not there or is empty is no list, until it is filled; named, which says that
// somebody named it, it is one that cannot be read: what is mounted there may have failed to be.
func Open(dir string, named bool) *List {
	if dir == "" {
		return nil
	}
	l := &List{dir: dir, named: named, now: time.Now}
	l.lookup.Store(l.load())
	return l
}

// state returns what the list says now.
func (l *List) state() *state {
	s := l.lookup.Load()
	if l.dir == "" {
		return s
	}
	if age := l.now().Sub(s.read); age >= 0 && age < reloadEvery || !l.read.TryLock() {
		return s
	}
	defer l.read.Unlock()
	s = l.load()
	l.lookup.Store(s)
	return s
}

// IsSet reports whether signatures are asked for: there is a key, a revoked one included, or
// the list cannot be read.
func (l *List) IsSet() bool {
	if l == nil {
		return false
	}
	s := l.state()
	return s.err != nil || len(s.trusted) > 0 || len(s.revoked) > 0
}

// Check returns nil where a key is trusted, and not revoked; else an error that wraps
// [ErrUntrusted]. Where no list is set it trusts nobody.
func (l *List) Check(k ed25519.PublicKey) error {
	if l == nil {
		return fmt.Errorf("%w: there is no list", ErrUntrusted)
	}
	s, by := l.state(), idOf(k)
	switch _, known := s.trusted[by]; {
	case s.err != nil:
		return fmt.Errorf("%w: %w", ErrUntrusted, s.err)
	case s.revoked[by]:
		return fmt.Errorf("%w: %s is revoked", ErrUntrusted, Fingerprint(k))
	case !known:
		return fmt.Errorf("%w: it is signed by %s", ErrUntrusted, Fingerprint(k))
	}
	return nil
}

// Err says why nothing is trusted, where the list cannot be read.
func (l *List) Err() error {
	if l == nil {
		return nil
	}
	return l.state().err
}

// Keys returns the keys that are trusted and not revoked, in the order of their fingerprints.
func (l *List) Keys() (all []ed25519.PublicKey) {
	for _, e := range l.Entries() {
		if !e.Revoked {
			all = append(all, e.Key)
		}
	}
	return all
}

// Entry is what a list says of a key.
type Entry struct {
	Fingerprint string
	Key         ed25519.PublicKey // nil: only its fingerprint is known
	File        string            // that holds the key; ""
	Revoked     bool
}

// Entries returns what the list says of each key, in the order of the fingerprints.
func (l *List) Entries() (all []Entry) {
	if l == nil {
		return nil
	}
	s := l.state()
	for by, k := range s.trusted {
		all = append(all, Entry{Fingerprint(k), k, s.files[by], s.revoked[by]})
	}
	for by := range s.revoked {
		if _, known := s.trusted[by]; !known {
			all = append(all, Entry{Fingerprint: fingerprint(by), Revoked: true})
		}
	}
	slices.SortFunc(all, func(a, b Entry) int { return cmp.Compare(a.Fingerprint, b.Fingerprint) })
	return all
}

// load reads the directory.
func (l *List) load() *state {
	s := load(l.dir, l.now())
	if l.named && s.err == nil && len(s.trusted) == 0 && len(s.revoked) == 0 {
		s.err = fmt.Errorf("list of trusted keys %s: there is no key in it", l.dir)
	}
	return s
}

// load reads a directory.
func load(dir string, now time.Time) *state {
	s := &state{read: now, trusted: make(map[id]ed25519.PublicKey), files: make(map[id]string), revoked: make(map[id]bool)}
	err := s.load(dir)
	if err != nil && !errors.Is(err, errNone) {
		*s = state{read: now, err: fmt.Errorf("list of trusted keys %s: %w", dir, err)}
	}
	return s
}

// errNone says that there is no directory.
var errNone = errors.New("no directory")

func (s *state) load(dir string) error {
	d, err := openDir(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Readdirnames(maxFiles + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if len(names) > maxFiles {
		return fmt.Errorf("over %d files", maxFiles)
	}
	for _, name := range names {
		if strings.HasPrefix(name, ".") {
			continue
		}
		if err := s.add(dir, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// add reads one file.
func (s *state) add(dir, name string) error {
	if name != revokedName && !strings.HasSuffix(name, keyEnding) {
		return fmt.Errorf("want names that end in %s, and %q", keyEnding, revokedName)
	}
	f, err := openFile(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return err
	case len(b) > maxFile:
		return fmt.Errorf("over %d bytes", maxFile)
	case name == revokedName:
		return s.revoke(b)
	}
	keys, err := ParsePublic(b)
	if err != nil {
		return err
	}
	for _, k := range keys {
		s.trusted[idOf(k)] = k
		s.files[idOf(k)] = name
	}
	return nil
}

func (s *state) revoke(b []byte) error {
	for line := range strings.Lines(string(b)) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		by, err := ParseFingerprint(line)
		if err != nil {
			return err
		}
		s.revoked[by] = true
	}
	return nil
}

// Add puts a public key into the list of a directory, which is made where it is missing, and
// reports whether it was not there before. A revoked key is an error.
func Add(dir string, k ed25519.PublicKey) (added bool, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return false, err
	}
	s := load(dir, time.Time{})
	switch _, known := s.trusted[idOf(k)]; {
	case s.err != nil:
		return false, s.err
	case s.revoked[idOf(k)]:
		return false, fmt.Errorf("%s is revoked; that is written in %s", Fingerprint(k), filepath.Join(dir, revokedName))
	case known:
		return false, nil
	}
	b, err := MarshalPublic(k)
	if err != nil {
		return false, err
	}
	by := idOf(k)
	return true, write(dir, fmt.Sprintf("%x%s", by[:8], keyEnding), b)
}

// Revoke adds a fingerprint to the revoked ones of a directory, which is made where it is missing,
// and reports whether it was not there before.
func Revoke(dir, fingerprintText string) (revoked bool, err error) {
	by, err := ParseFingerprint(fingerprintText)
	if err != nil {
		return false, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return false, err
	}
	defer hold(dir)() // two at one time would lose one
	s := load(dir, time.Time{})
	if s.err != nil {
		return false, s.err
	}
	if s.revoked[by] {
		return false, nil
	}
	s.revoked[by] = true
	var b []byte
	if f, err := openFile(filepath.Join(dir, revokedName)); err == nil {
		b, err = io.ReadAll(f)
		f.Close()
		if err != nil {
			return false, err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if len(b) > 0 && b[len(b)-1] != '\n' {
		b = append(b, '\n')
	}
	b = append(b, fingerprintText+"\n"...)
	return true, write(dir, revokedName, b)
}

// write puts a file in the place of another, all of it or nothing.
func write(dir, name string, b []byte) error {
	f, err := os.CreateTemp(dir, ".new-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b)
	if err = cmp.Or(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(dir, name))
}
