package deps

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kernstash/kernstash/deps/internal/files"
	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/internal/ctime"
	"github.com/kernstash/kernstash/key"
)

// Watched returns what a unit depends on of which it was watched what its compiler looked at:
// paths are absolute, each once. A path that leads to a file is one that it reads, by content,
// any other is a name that has to lead to what it does. sum returns the digest of a file that is not a text and need not be
// read here, or nil. absent, which may be nil, is called once all paths were looked at, with those that lead nowhere: it says why
// one of them may have led somewhere since began. An error says that this cannot be
// known: the compiler ran from began until now, and something may have changed meanwhile, or a
// source asks for the time.
func Watched(u key.Unit, paths []string, began time.Time, sum func(path string) *key.Digest, absent func(paths []string) error) (*Tracking, error) {
	w := watched{System: files.OS, unit: u, began: began, sum: sum, files: make(map[files.Inode]int)}
	w.unit.Includes, w.unit.Files = nil, nil
	for _, path := range slices.Sorted(slices.Values(paths)) {
		if err := w.add(path); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	if absent != nil {
		if err := absent(w.absent); err != nil {
			return nil, err
		}
	}
	if err := w.digests(); err != nil {
		return nil, err
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
	reads  []manifest.Read
	looked []time.Time // when each of reads was looked at
	probes []files.Probe
	absent []string
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
		if kind != files.Directory {
			w.absent = append(w.absent, path)
		}
		w.unit.Includes = append(w.unit.Includes, key.Include{Name: fmt.Sprintf("%s, kind %d", path, kind), File: -1})
		return nil
	case !ctime.Before(w.began, path, stamp.Device, stamp.Mtime, stamp.Ctime):
		return files.ErrChanging
	}
	number, known := w.files[stamp.Inode]
	if !known {
		number = len(w.unit.Files)
		w.files[stamp.Inode] = number
		w.unit.Files = append(w.unit.Files, key.File{Path: path, Size: stamp.Size})
	} else if w.unit.Files[number].Size != stamp.Size {
		return files.ErrChanging
	}
	w.unit.Includes = append(w.unit.Includes, key.Include{Name: path, File: number})
	w.reads, w.looked = append(w.reads, manifest.Read{Path: path, File: number, Stamp: stamp}), append(w.looked, now)
	return nil
}

// digests reads the files, some at once, and notes what a later change of them would show in.
func (w *watched) digests() error {
	text, errs := make([]bool, len(w.unit.Files)), make([]error, len(w.unit.Files))
	stamps := make([]files.Stamp, len(w.unit.Files))
	for _, r := range w.reads {
		stamps[r.File] = r.Stamp
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(errs); i = int(next.Add(1)) - 1 {
				f := &w.unit.Files[i]
				if f.Digest, text[i], errs[i] = w.content(f.Path, stamps[i]); errs[i] != nil {
					errs[i] = fmt.Errorf("%s: %w", f.Path, errs[i])
				}
			}
		})
	}
	all.Wait()
	if err := cmp.Or(errs...); err != nil {
		return err
	}
	for i := range w.reads {
		r, now := &w.reads[i], w.looked[i]
		r.Settled = w.Settled(r.Path, r.Stamp, now)
		if !r.Settled && !text[r.File] { // a program
			r.Settled = ctime.Settled(now, r.Stamp.Mtime, r.Stamp.Ctime) && ctime.TrustedOnOverlay(r.Path, r.Stamp.Mtime, r.Stamp.Ctime)
		}
	}
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
