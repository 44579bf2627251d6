package deps

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kernstash/kernstash/deps/internal/scan"
	"github.com/kernstash/kernstash/internal/ctime"
	"github.com/kernstash/kernstash/key"
)

// Bounds of what one unit may read, and of how its files nest: compilers stop
// at 200 as well.
const (
	maxBytes  = 64 << 20
	maxFiles  = 20_000
	maxProbes = 200_000
	maxDepth  = 200
	// maxTime is how long the files of one unit are looked for. A file system
	// that does not answer at all takes longer.
	maxTime = 5 * time.Second
	// stepsInTime is how many steps there are between two looks at the clock.
	stepsInTime = 8
)

var (
	errTooMuch = errors.New("too many header files")
	errSlow    = errors.New("header files that take too long")
	errSpecial = errors.New("not a regular file")
)

// system is how files are looked at; tests count the calls.
type system struct {
	look   func(path string) (kind, stamp, error)
	lookAt func(path string) (kind, error)
	read   func(path string, limit int64) ([]byte, stamp, error)
	// trusted says whether a file's change time says that it changed; see package ctime.
	trusted func(path string, device uint64) bool
	memory  *memory // nil: nothing is remembered
	// atOnce says that several goroutines may look at the same time.
	atOnce bool
}

var osSystem = system{look: look, lookAt: lookAt, read: read, trusted: ctime.Trusted, memory: &ofProcess, atOnce: true}

var ofProcess memory

// disk is what was found of the file system: each path is looked at once.
type disk struct {
	system
	spots  map[string]*spot
	files  map[inode]*file
	probes map[probe]bool // what has to be as it was, besides the files read
	bytes  int64
	steps  int
	until  time.Time
}

// spot is what is at a path.
type spot struct {
	kind    kind
	stamp   stamp
	settled bool  // the stamp would show a later change
	file    *file // once it was read
	err     error
}

// probe is a path that was found to lead to no header file.
type probe struct {
	Path string
	kind kind
}

// file is a header file that was read, by whatever path.
type file struct {
	digest  key.Digest
	content []byte
	stamp   stamp
	src     *scan.Source
}

func newDisk(s system) *disk {
	return &disk{system: s, spots: make(map[string]*spot), files: make(map[inode]*file), probes: make(map[probe]bool), until: time.Now().Add(maxTime)}
}

// inTime returns an error once there is no time left.
func (d *disk) inTime() error {
	if time.Now().After(d.until) {
		return errSlow
	}
	return nil
}

// inTimeStill is inTime for the tracker's own many small steps, as looking for a name:
// a look at the clock takes as long as one.
func (d *disk) inTimeStill() error {
	if d.steps++; d.steps%stepsInTime != 0 {
		return nil
	}
	return d.inTime()
}

// at looks at a path.
func (d *disk) at(path string) *spot {
	s := d.spots[path]
	if s != nil {
		return s
	}
	s = new(spot)
	d.spots[path] = s
	now := time.Now()
	s.kind, s.stamp, s.err = d.look(path)
	s.settled = s.kind == regular && d.settled(path, s.stamp, now)
	return s
}

// settled says whether a change of the file at path after the time now would show in its
// stamp.
func (s system) settled(path string, st stamp, now time.Time) bool {
	return st.settledAt(now) && s.trusted(path, st.device)
}

// find looks for a header file of a name in a directory. It returns its path,
// or "" where there is none, which it notes.
func (d *disk) find(dir, name string) (string, error) {
	if err := d.inTimeStill(); err != nil {
		return "", err
	}
	path := dir + "/" + name
	if dir != "/" {
		// As long as a directory on the way is missing, nothing else has to be
		// looked at.
		if k := d.at(dir).kind; k == nothing {
			return "", d.absent(dir, k)
		}
		for i := range name {
			if name[i] != '/' || i == 0 {
				continue
			}
			step := name[:i]
			if strings.HasSuffix(step, "..") || strings.HasSuffix(step, "/") {
				break
			}
			missing := path[:len(dir)+1+i]
			if k := d.at(missing).kind; k == nothing {
				return "", d.absent(missing, k)
			}
		}
	}
	path, err := d.plain(path)
	if err != nil {
		return "", err
	}
	switch s := d.at(path); {
	case s.err != nil:
		return "", s.err
	case s.kind == regular:
		return path, nil
	case s.kind == special:
		return "", fmt.Errorf("%s: %w", path, errSpecial)
	default:
		return "", d.absent(path, s.kind)
	}
}

func (d *disk) absent(path string, k kind) error {
	d.probes[probe{path, k}] = true
	if len(d.probes) > maxProbes {
		return errTooMuch
	}
	return nil
}

// plain returns an absolute path without "." and, where the component before
// it is a directory and no link to one, "..": else headers that include one
// another through ".." would have no end of names.
func (d *disk) plain(path string) (string, error) {
	if !strings.Contains(path, "/.") && !strings.Contains(path, "//") && !strings.HasSuffix(path, "/") {
		return path, nil
	}
	var parts []string
	for part := range strings.SplitSeq(path, "/") {
		switch part {
		case "", ".":
			continue
		case "..":
			if len(parts) == 0 {
				continue
			}
			if parts[len(parts)-1] != ".." {
				before := "/" + strings.Join(parts, "/")
				k, err := d.real(before)
				if err != nil {
					return "", err
				}
				if k {
					parts = parts[:len(parts)-1]
					continue
				}
			}
		}
		parts = append(parts, part)
	}
	return "/" + strings.Join(parts, "/"), nil
}

// real says whether path is a directory and no link to one.
func (d *disk) real(path string) (bool, error) {
	if d.probes[probe{path, realDirectory}] {
		return true, nil
	}
	k, err := d.lookAt(path)
	if err != nil || k != realDirectory {
		return false, err
	}
	return true, d.absent(path, k)
}

// load reads the file that was found at path.
func (d *disk) load(path string, t *scan.Traces) (*file, error) {
	s := d.at(path)
	if s.file != nil {
		return s.file, nil
	}
	if f := d.files[s.stamp.inode]; f != nil {
		if f.stamp != s.stamp {
			return nil, fmt.Errorf("%s: %w", path, errChanging)
		}
		s.file = f
		return f, nil
	}
	if len(d.files) == maxFiles {
		return nil, errTooMuch
	}
	if err := d.inTime(); err != nil {
		return nil, err
	}
	if f := d.memory.get(s, t); f != nil && f.stamp.size <= maxBytes-d.bytes {
		d.bytes += f.stamp.size
		s.file = f
		d.files[f.stamp.inode] = f
		return f, nil
	}
	content, st, err := d.read(path, maxBytes-d.bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if st != s.stamp {
		return nil, fmt.Errorf("%s: %w", path, errChanging)
	}
	d.bytes += st.size
	s.file = newFile(content, st)
	noted := s.file.scan(t)
	t.Add(noted)
	d.files[st.inode] = s.file
	d.memory.put(s, s.file, noted)
	return s.file, nil
}

func newFile(content []byte, st stamp) *file {
	return &file{digest: sha256.Sum256(content), content: content, stamp: st}
}

// scan looks through the file as t says, and returns what it notes.
func (f *file) scan(t *scan.Traces) *scan.Traces {
	noted := t.Fresh()
	f.src = scan.Scan(f.content, noted)
	return noted
}

// parent returns the directory of an absolute path.
func parent(path string) string {
	return path[:max(strings.LastIndexByte(path, '/'), 1)]
}
