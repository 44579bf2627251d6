// Package contents tells what large files hold that change rarely: compilers, and what they read. A
// digest is kept under the file's stamp, in the process and in a table that processes share, so
// that a process does not read a hundred megabytes to say what it compiles with.
package contents

import (
	"crypto/sha256"
	"encoding/hex"
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

	"github.com/kernstash/kernstash/internal/ctime"
)

// Stamp tells one state of one file from the others. It is comparable.
type Stamp struct {
	Device, Inode uint64
	Size          int64
	Mtime, Ctime  int64 // nanoseconds since 1970
}

// settled reports whether a change after the time now would show in the stamp.
func (s Stamp) settled(now time.Time) bool { return ctime.Settled(now, s.Mtime, s.Ctime) }

// errRegular is returned for directories, FIFOs and the like.
var errRegular = errors.New("not a regular file")

// errChanging is returned for a file that is written while it is read.
var errChanging = errors.New("it is being changed")

// Look returns the stamp of the file that path leads to, by one stat.
func Look(path string) (Stamp, error) {
	st, err := os.Stat(path)
	if err != nil {
		return Stamp{}, err
	}
	if !st.Mode().IsRegular() {
		return Stamp{}, fmt.Errorf("%s: %w", path, errRegular)
	}
	return stampOf(st), nil
}

// Stamped returns a digest of the content of the file that path leads to, 32 hexadecimal digits of
// its SHA-256. It is for keys; [Sum] has all digits. The caller has just looked at it. A file that the process has read is not read again
// while its stamp stays; one that another process has read, where the file system's stamps can be
// believed, or while an image stays mounted. Safe for concurrent use.
func Stamped(path string, s Stamp) (string, error) {
	d, err := stamped(path, s, 32)
	return d[:min(len(d), 32)], err
}

// Sum returns the SHA-256 of the content, as Stamped does.
func Sum(path string, s Stamp) (sum [sha256.Size]byte, err error) {
	d, err := stamped(path, s, 2*len(sum))
	if err == nil {
		_, err = hex.Decode(sum[:], []byte(d[:2*len(sum)]))
	}
	return sum, err
}

// stamped returns at least so many digits.
func stamped(path string, s Stamp, digits int) (string, error) {
	k := place{path, s}
	if d, ok := known.own(k); ok && len(d) >= digits {
		return d, nil
	}
	mount, share := "", isBelieved(path, s)
	if !share {
		mount = imageAt(path)
		share = mount != ""
	}
	if share {
		if d, ok := known.shared(k, mount); ok && len(d) >= digits {
			return d, nil
		}
	}
	// One reader at a time: of two that ask for one file the second finds it read.
	reading.Lock()
	defer reading.Unlock()
	if d, ok := known.own(k); ok && len(d) >= digits {
		return d, nil
	}
	// A change while it is read, which may take long, may not show in the stamp either.
	now := time.Now()
	d, err := read(path, s, mount)
	readings.Add(1)
	if err != nil {
		return "", fmt.Errorf("digest %s: %w", path, err)
	}
	if s.settled(now) {
		known.put(k, digest{text: d, mount: mount, share: share})
	}
	return d, nil
}

// Derived returns what derive makes of the content of a file that had the stamp s when the caller looked at it, and the
// digest that [Stamped] returned for it. It must depend on that content and on kind, a word, alone; text with a line
// break is not kept. It is kept as digests are, by the process and by others, unless the file was changed in the last
// seconds. Safe for concurrent use.
func Derived(kind, digest string, s Stamp, derive func() (string, error)) (string, error) {
	key := kind + " " + digest
	if text, ok := known.derivation(key); ok {
		return text, nil
	}
	now := time.Now()
	text, err := derive()
	if err == nil && s.settled(now) && !strings.Contains(text, "\n") {
		known.putDerivation(key, text)
	}
	return text, err
}

var reading sync.Mutex

// readings counts the files that were read to their end.
var readings atomic.Int64

// Readings returns how many files the process has read so far. While one is read, which may
// take long, others may be replaced: whoever has looked at something before looks again if
// the number is another one.
func Readings() int64 { return readings.Load() }

// imageAt returns what imageOf does, of the file that path leads to.
func imageAt(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	return imageOf(f)
}

// read returns the digest of a file that has the stamp s and, unless mount is empty, lies on
// that mount of an image: another one may be mounted over it meanwhile.
func read(path string, s Stamp, mount string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	st, err := f.Stat()
	if err != nil {
		return "", err
	}
	if stampOf(st) != s || mount != "" && imageOf(f) != mount {
		return "", errChanging
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Set is files that are looked at again and again. The zero value is empty. It is not safe
// for concurrent use while it is added to.
type Set struct {
	places []place // files, and directories
	lines  []string
}

// maxFiles bounds a directory whose files are all read.
const maxFiles = 1024

var errTooMuch = errors.New("more files than expected")

// Add adds a file, or all files below a directory, links followed, whose digest names them by
// name and their paths below it. A path that leads nowhere is fs.ErrNotExist.
func (s *Set) Add(name, path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	stamp := stampOf(st)
	s.places = append(s.places, place{path, stamp})
	switch {
	case len(s.places) > maxFiles:
		return fmt.Errorf("%s: %w", path, errTooMuch)
	case st.Mode().IsRegular():
		d, err := Stamped(path, stamp)
		s.lines = append(s.lines, name+" "+d)
		return err
	case !st.IsDir():
		return fmt.Errorf("%s: %w", path, errRegular)
	}
	below, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range below {
		err := s.Add(name+"/"+e.Name(), filepath.Join(path, e.Name()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // else it is a link to nothing
			return err
		}
	}
	return nil
}

// Join adds what another set holds.
func (s *Set) Join(o *Set) {
	s.places = append(s.places, o.places...)
	s.lines = append(s.lines, o.lines...)
}

// Stamps returns the stamps of what is at paths, whatever it is: the zero Stamp where nothing is.
func Stamps(paths []string) []Stamp {
	all := make([]Stamp, len(paths))
	for i, path := range paths {
		if st, err := os.Stat(path); err == nil {
			all[i] = stampOf(st)
		}
	}
	return all
}

// Empty reports whether there are no files.
func (s *Set) Empty() bool { return len(s.lines) == 0 }

// Digest returns a digest of the names and contents, 32 hexadecimal digits.
func (s *Set) Digest() string {
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(slices.Values(s.lines)), "\n")))
	return hex.EncodeToString(sum[:16])
}

// Changed returns the path of a file or a directory that is not as it was when it was added;
// "" if there is none. It costs a stat each.
func (s *Set) Changed() string {
	for _, p := range s.places {
		if st, err := os.Stat(p.path); err != nil || stampOf(st) != p.Stamp {
			return p.path
		}
	}
	return ""
}
