package caches

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"

	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/leak"
)

// Limits bound what is looked at, of all caches together.
type Limits struct {
	Files int           // and directories
	Bytes int64         // that are read, for what tells of this machine
	Each  int64         // of one file
	Time  time.Duration // in all
}

// Usual are the limits of the command.
var Usual = Limits{Files: 200_000, Bytes: 256 << 20, Each: 8 << 20, Time: 10 * time.Second}

// maxDepth is how deep directories are looked into.
const maxDepth = 32

// Cache is a directory in which a tool keeps what it compiles.
type Cache struct {
	Tool   string    `json:"tool"`
	Dir    string    `json:"dir"`
	By     string    `json:"by"` // the variable that names it, "default", or "kernstash run"
	Files  int       `json:"files"`
	Bytes  int64     `json:"bytes"`           // of the files
	Links  int       `json:"links,omitempty"` // which are not followed
	Oldest time.Time `json:"oldest,omitzero"` // when a file was written
	Newest time.Time `json:"newest,omitzero"`

	Programs []Programs `json:"programs,omitempty"` // of DPC++ and Intel's driver, the most first

	Portable *Portable `json:"portable,omitempty"` // where that was asked for

	Error string `json:"error,omitempty"` // why it was not looked at, or not all of it
}

// Portable is what in a cache tells of this machine.
type Portable struct {
	Looked int      `json:"looked"`             // files
	Read   int64    `json:"read_bytes"`         // of them
	Paths  int      `json:"with_paths"`         // files that hold paths which other machines need not have
	Hosts  int      `json:"with_host"`          // files that hold the name of this machine
	Texts  []string `json:"examples,omitempty"` // some of those texts
}

const maxTexts = 3

// short returns the beginning of a text, which is ASCII.
func short(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	return text[:most] + "…"
}

// names returns what is looked for besides paths: the name of this machine, unless many texts hold it anyway.
func names(host string) []string {
	const least = 5
	if len(host) < least || host == "localhost" {
		return nil
	}
	return []string{host}
}

// walk looks at caches until it meets a limit.
type walk struct {
	ctx      context.Context
	left     Limits
	deadline time.Time
	portable bool
	names    []string
}

// errLimit says which limit was met.
type errLimit struct{ what string }

func (e errLimit) Error() string { return "not all was looked at: " + e.what }

// look looks at what is in a directory, unless that is a link.
func (w *walk) look(c *Cache) (err error) {
	at, err := os.Lstat(c.Dir)
	switch {
	case err != nil:
		return err
	case at.Mode()&fs.ModeSymlink != 0:
		to, _ := os.Readlink(c.Dir)
		return fmt.Errorf("a link, which is not followed: %s", to)
	case !at.IsDir():
		return errors.New("not a directory")
	}
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if here, err := root.Stat("."); err != nil || !os.SameFile(at, here) {
		return errors.New("it was replaced meanwhile")
	}
	if w.portable {
		c.Portable = new(Portable)
	}
	var others error
	dirs := []string{"."}
	for len(dirs) > 0 {
		dir := dirs[len(dirs)-1]
		dirs = dirs[:len(dirs)-1]
		more, err := w.directory(root, dir, c)
		if _, limit := err.(errLimit); limit {
			return err
		}
		if others == nil {
			others = err
		}
		dirs = append(dirs, more...)
	}
	return others
}

// directory looks at what is in a directory of a cache, and returns the directories there.
func (w *walk) directory(root *os.Root, dir string, c *Cache) (dirs []string, err error) {
	f, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var others error
	for {
		const some = 256
		all, err := f.ReadDir(some)
		for _, e := range all {
			if err := w.may(); err != nil {
				return nil, err
			}
			name := path.Join(dir, e.Name())
			switch e.Type() {
			case fs.ModeSymlink:
				c.Links++
			case fs.ModeDir:
				if depth(name) < maxDepth {
					dirs = append(dirs, name)
				} else {
					others = fmt.Errorf("not all was looked at: directories deeper than %d", maxDepth)
				}
			case 0:
				if err := w.file(root, name, e, c); err != nil {
					if _, limit := err.(errLimit); limit {
						return nil, err
					}
					others = err
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return dirs, others
		}
		if err != nil {
			return dirs, err
		}
	}
}

// depth returns how many names a path has.
func depth(name string) (n int) {
	for ; name != "."; name = path.Dir(name) {
		n++
	}
	return n
}

// may counts a file or directory, and says which limit is met.
func (w *walk) may() error {
	switch {
	case w.ctx.Err() != nil:
		return w.ctx.Err()
	case w.left.Files <= 0:
		return errLimit{"too many files"}
	case time.Now().After(w.deadline):
		return errLimit{fmt.Sprintf("it took longer than %v", w.left.Time)}
	}
	w.left.Files--
	return nil
}

// file counts a file, and looks into it where that is asked for. One that went meanwhile was none.
func (w *walk) file(root *os.Root, name string, e fs.DirEntry, c *Cache) error {
	info, err := e.Info()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	written := info.ModTime().UTC()
	if c.Files++; c.Files == 1 || written.Before(c.Oldest) {
		c.Oldest = written
	}
	if written.After(c.Newest) {
		c.Newest = written
	}
	c.Bytes += info.Size()
	w.program(root, name, info.Size(), c)
	if c.Portable == nil {
		return nil
	}
	if w.left.Bytes <= 0 {
		return errLimit{"too many bytes to read"}
	}
	return w.read(root, name, c.Portable)
}

// read looks for what tells of this machine in a file.
func (w *walk) read(root *os.Root, name string, p *Portable) error {
	f, err := openQuietly(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return err
	}
	most := min(w.left.Each, w.left.Bytes)
	r := &counted{r: io.LimitReader(f, most), w: w}
	paths, hosts := false, false
	err = leak.Search(r, w.names, func(text string) {
		isName := slices.Contains(w.names, text)
		hosts, paths = hosts || isName, paths || !isName
		if text = short(text); len(p.Texts) < maxTexts && !slices.Contains(p.Texts, text) {
			p.Texts = append(p.Texts, text)
		}
	})
	w.left.Bytes -= r.n
	p.Read += r.n
	p.Looked++
	if paths {
		p.Paths++
	}
	if hosts {
		p.Hosts++
	}
	if err == nil && r.n == most {
		if info, statErr := f.Stat(); statErr == nil && info.Size() > most {
			err = fmt.Errorf("not all was read: of some files the first %s", human.Size(most))
		}
	}
	return err
}

// counted reads until the time is over.
type counted struct {
	r io.Reader
	w *walk
	n int64
}

func (c *counted) Read(b []byte) (int, error) {
	if c.w.ctx.Err() != nil {
		return 0, c.w.ctx.Err()
	}
	if time.Now().After(c.w.deadline) {
		return 0, errLimit{fmt.Sprintf("it took longer than %v", c.w.left.Time)}
	}
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}
