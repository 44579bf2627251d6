// Package files looks at header files: what is at a path, and whether a later change of it would
// show.
package files

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kernstash/kernstash/internal/ctime"
)

// Bounds of what is looked at for one unit.
const (
	maxProbes = 200_000
	// MaxTime is how long the files of one unit are looked for. A file system
	// that does not answer at all takes longer.
	MaxTime = 5 * time.Second
)

// The errors of files that are not looked at.
var (
	ErrTooMuch = errors.New("too many header files")
	ErrSlow    = errors.New("header files that take too long")
	// ErrChanging says that a file is another one than a moment ago.
	ErrChanging = errors.New("it is being changed")
	errSpecial  = errors.New("not a regular file")
)

// System is how files are looked at; tests count the calls.
type System struct {
	Look   func(path string) (Kind, Stamp, error)
	LookAt func(path string) (Way, error)
	Read   func(path string, limit int64) ([]byte, Stamp, error)
	// Trusted reports whether a file's change time says that it changed; see package ctime.
	Trusted func(path string, device uint64) bool
}

// OS is the file system as it is.
var OS = System{Look: look, LookAt: lookAt, Read: read, Trusted: ctime.Trusted}

// Disk is what was found of the file system: each path is looked at once.
type Disk struct {
	System
	spots  map[string]*Spot
	Probes map[Probe]bool // what has to be as it was, besides the files read
	Until  time.Time      // when ErrSlow is given
}

// Spot is what is at a path.
type Spot struct {
	Kind    Kind
	Stamp   Stamp
	Settled bool // the stamp would show a later change
	Err     error
}

// Probe is a path that was found to lead to no header file.
type Probe struct {
	Path string
	Kind Kind
}

// Holds reports whether the path leads to what it did.
func (p Probe) Holds(s System) bool {
	if p.Kind == RealDirectory {
		w, err := s.LookAt(p.Path)
		return err == nil && w.Kind == p.Kind
	}
	k, _, err := s.Look(p.Path)
	return err == nil && k == p.Kind
}

// NewDisk returns one of which nothing was looked at.
func NewDisk(s System) *Disk {
	return &Disk{System: s, spots: make(map[string]*Spot), Probes: make(map[Probe]bool), Until: time.Now().Add(MaxTime)}
}

// InTime returns an error once there is no time left.
func (d *Disk) InTime() error {
	if time.Now().After(d.Until) {
		return ErrSlow
	}
	return nil
}

// At looks at a path.
func (d *Disk) At(path string) *Spot {
	if s := d.spots[path]; s != nil {
		return s
	}
	s := new(Spot)
	d.spots[path] = s
	now := time.Now()
	s.Kind, s.Stamp, s.Err = d.Look(path)
	s.Settled = s.Kind == Regular && d.Settled(path, s.Stamp, now)
	return s
}

// Settled reports whether a change of the file at path after the time now would show in its
// stamp.
func (s System) Settled(path string, st Stamp, now time.Time) bool {
	return ctime.Settled(now, st.Mtime, st.Ctime) && s.Trusted(path, st.Device)
}

// Find looks for a header file of a name in a directory. It returns its path,
// or "" where there is none, which it notes.
func (d *Disk) Find(dir, name string) (string, error) {
	if err := d.InTime(); err != nil {
		return "", err
	}
	path := dir + "/" + name
	if dir != "/" {
		// While a directory on the way is missing, nothing else has to be looked at.
		if k := d.At(dir).Kind; k == Nothing {
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
			if k := d.At(missing).Kind; k == Nothing {
				return "", d.absent(missing, k)
			}
		}
	}
	path, err := d.Plain(path)
	if err != nil {
		return "", err
	}
	switch s := d.At(path); {
	case s.Err != nil:
		return "", s.Err
	case s.Kind == Regular:
		return path, nil
	case s.Kind == Special:
		return "", fmt.Errorf("%s: %w", path, errSpecial)
	default:
		return "", d.absent(path, s.Kind)
	}
}

func (d *Disk) absent(path string, k Kind) error {
	d.Probes[Probe{path, k}] = true
	if len(d.Probes) > maxProbes {
		return ErrTooMuch
	}
	return nil
}

// Plain returns an absolute path without "." and, where the component before
// it is a directory and no link to one, "..": else headers that include one
// another through ".." would have no end of names.
func (d *Disk) Plain(path string) (string, error) {
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

// real reports whether path is a directory and no link to one.
func (d *Disk) real(path string) (bool, error) {
	if d.Probes[Probe{path, RealDirectory}] {
		return true, nil
	}
	w, err := d.LookAt(path)
	if err != nil || w.Kind != RealDirectory {
		return false, err
	}
	return true, d.absent(path, w.Kind)
}

// Inode tells files apart. What a name leads to is the file, not the link.
type Inode struct{ Device, Number uint64 }

// Stamp changes when a file changes, or when a name leads to another file.
type Stamp struct {
	Inode
	Size         int64
	Mtime, Ctime int64 // nanoseconds since 1970
}

// Kind is what is found at a path.
type Kind uint8

// The kinds.
const (
	Nothing       Kind = iota // no such file
	noDirectory               // a file where a directory would have to be
	Directory                 // a directory, which is no header
	RealDirectory             // likewise, and not through a symbolic link
	Regular
	Special // a FIFO, a device, a socket
	Link    // a symbolic link, where it is not followed
)

// Way is what is found at a path without following it.
type Way struct {
	Kind   Kind
	Target string // of a link
	Stamp
}

// ChangedSince reports whether w is not what was there, or has been somewhere else. A
// directory that was renamed has a change time of its own; one in which a file was made
// has the same as the time of its content.
func (w Way) ChangedSince(was Way) bool {
	if w.Kind != was.Kind || w.Inode != was.Inode || w.Target != was.Target {
		return true
	}
	return w.Ctime != was.Ctime && (w.Kind == Link || w.Ctime != w.Mtime)
}

// Parent returns the directory of an absolute path.
func Parent(path string) string { return path[:max(strings.LastIndexByte(path, '/'), 1)] }
