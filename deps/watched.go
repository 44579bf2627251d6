package deps

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kernstash/kernstash/deps/internal/files"
	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/internal/ctime"
	"github.com/kernstash/kernstash/key"
)

// Watched returns what a unit depends on of which it was watched what its compiler looked at:
// paths are absolute, each once. A path that leads to a file is one that it reads, by content,
// any other is a name that has to lead to what it does. sum returns the digest of a file that is not a text and need not be
// read here, or nil. An error says that this cannot be
// known: the compiler ran from began until now, and something may have changed meanwhile, or a
// source asks for the time.
func Watched(u key.Unit, paths []string, began time.Time, sum func(path string) *key.Digest) (*Tracking, error) {
	w := watched{System: files.OS, unit: u, began: began, sum: sum, files: make(map[files.Inode]int)}
	w.unit.Includes, w.unit.Files = nil, nil
	for _, path := range slices.Sorted(slices.Values(paths)) {
		if err := w.add(path); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	m := manifest.New(w.unit, manifest.Unplaced, w.reads, w.probes)
	if changed := m.Ways().ChangedAfter(began); changed != "" {
		return nil, fmt.Errorf("%s: %w", changed, files.ErrChanging)
	}
	return &Tracking{Unit: w.unit, Manifest: m}, nil
}

// watched collects what is at the paths.
type watched struct {
	files.System
	unit   key.Unit
	began  time.Time
	sum    func(path string) *key.Digest
	files  map[files.Inode]int
	text   []bool // of each file
	reads  []manifest.Read
	probes []files.Probe
}

var (
	errSpecial = errors.New("neither a file nor a directory")
	errTime    = errors.New("it asks for the time of the compile")
)

func (w *watched) add(path string) error {
	now := time.Now()
	kind, stamp, err := w.Look(path)
	switch {
	case err != nil:
		return err
	case kind == files.Special:
		return errSpecial
	case kind != files.Regular:
		w.probes = append(w.probes, files.Probe{Path: path, Kind: kind})
		w.unit.Includes = append(w.unit.Includes, key.Include{Name: fmt.Sprintf("%s, kind %d", path, kind), File: -1})
		return nil
	case !ctime.Before(w.began, path, stamp.Device, stamp.Mtime, stamp.Ctime):
		return files.ErrChanging
	}
	number, known := w.files[stamp.Inode]
	if !known {
		digest, text, err := w.content(path, stamp)
		if err != nil {
			return err
		}
		number = len(w.unit.Files)
		w.text = append(w.text, text)
		w.files[stamp.Inode] = number
		w.unit.Files = append(w.unit.Files, key.File{Path: path, Digest: digest, Size: stamp.Size})
	} else if w.unit.Files[number].Size != stamp.Size {
		return files.ErrChanging
	}
	w.unit.Includes = append(w.unit.Includes, key.Include{Name: path, File: number})
	settled := w.Settled(path, stamp, now)
	if !settled && !w.text[number] { // a program
		settled = ctime.Settled(now, stamp.Mtime, stamp.Ctime) && ctime.TrustedOnOverlay(path, stamp.Mtime, stamp.Ctime)
	}
	w.reads = append(w.reads, manifest.Read{Path: path, File: number, Stamp: stamp, Settled: settled})
	return nil
}

// content returns the digest of a file, and whether it is a text.
func (w *watched) content(path string, stamp files.Stamp) (digest key.Digest, text bool, err error) {
	if d := w.sum(path); d != nil {
		if _, now, err := w.Look(path); err != nil || now != stamp {
			return digest, false, files.ErrChanging
		}
		return *d, false, nil
	}
	content, read, err := w.Read(path, stamp.Size)
	switch text = isText(content); {
	case err != nil:
	case read != stamp:
		err = files.ErrChanging
	case text && asksForTime(content):
		err = errTime
	}
	return sha256.Sum256(content), text, err
}

func isText(content []byte) bool { return bytes.IndexByte(content, 0) < 0 }

// asksForTime reports whether a text may hold a macro that is the time of a compile.
func asksForTime(content []byte) bool {
	content = unspliced(content)
	return slices.ContainsFunc([]string{"DATE__", "TIME__", "TIMESTAMP__"}, func(name string) bool { // an underscore is in every word of a header
		for rest := content; ; {
			i := bytes.Index(rest, []byte(name))
			if i < 0 {
				return false
			}
			if bytes.HasSuffix(rest[:i], []byte("__")) {
				return true
			}
			rest = rest[i+1:]
		}
	})
}

// unspliced returns a text whose lines that end with a backslash, or its trigraph, are joined with the
// next. For GCC blanks may stand behind it.
func unspliced(text []byte) []byte {
	if bytes.Contains(text, []byte("??/")) {
		text = bytes.ReplaceAll(text, []byte("??/"), []byte{'\\'})
	}
	var joined []byte
	start := 0 // of what is not in joined
	for at := 0; ; {
		i := bytes.IndexByte(text[at:], '\\')
		if i < 0 {
			break
		}
		at += i + 1
		end := at + len(text[at:]) - len(bytes.TrimLeft(text[at:], " \t\v\f"))
		line := bytes.TrimPrefix(text[end:], []byte{'\r'})
		if line = bytes.TrimPrefix(line, []byte{'\n'}); len(line) == len(text[end:]) {
			continue
		}
		joined = append(joined, text[start:at-1]...)
		start = len(text) - len(line)
		at = start
	}
	if start == 0 {
		return text
	}
	return append(joined, text[start:]...)
}
