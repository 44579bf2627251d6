package caches

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kernstash/kernstash/internal/human"
)

// Report is what is here of others' caches.
type Report struct {
	Caches []Cache  `json:"caches"`         // the largest first
	Absent []string `json:"absent"`         // tools of which nothing is here
	Host   string   `json:"host,omitempty"` // the name that was looked for
}

// Input is what a scan depends on.
type Input struct {
	Get      func(variable string) string
	Root     string // of our cache; "": not known
	Host     string // the name of this machine; "": not known
	Portable bool   // to look for what tells of this machine
	Limits
}

// Scan looks for the caches of others. An error is that of the context.
func Scan(ctx context.Context, in Input) (*Report, error) {
	e := &surroundings{get: in.Get, homeDir: in.Get("HOME"), root: in.Root}
	if e.homeDir == "" {
		e.homeDir, _ = os.UserHomeDir()
	}
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil {
		e.account = u.HomeDir
	}
	e.dir, _ = os.Getwd()
	w := &walk{ctx: ctx, left: in.Limits, deadline: time.Now().Add(in.Time), portable: in.Portable}
	r := &Report{Caches: []Cache{}, Absent: []string{}}
	if w.portable {
		w.names = names(in.Host)
		r.Host = strings.Join(w.names, "")
	}
	seen := make(map[string]bool)
	for _, rule := range rules {
		here := false
		for _, p := range rule.places(e) {
			if p.dir == "" || seen[filepath.Clean(p.dir)] {
				continue
			}
			c := Cache{Tool: rule.tool, Dir: filepath.Clean(p.dir), By: cmp.Or(p.by, "default")}
			seen[c.Dir] = true
			err := w.look(&c)
			switch {
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case errors.Is(err, fs.ErrNotExist):
				continue
			case err != nil:
				c.Error = reason(err)
			}
			here = true
			slices.SortStableFunc(c.Programs, func(a, b Programs) int { return cmp.Compare(b.Count, a.Count) })
			r.Caches = append(r.Caches, c)
		}
		if !here {
			r.Absent = append(r.Absent, rule.tool)
		}
	}
	slices.SortStableFunc(r.Caches, func(a, b Cache) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return r, nil
}

// reason returns what an error says, without the path of a cache that stands beside it.
func reason(err error) string {
	if path, is := errors.AsType[*fs.PathError](err); is {
		return path.Err.Error()
	}
	return err.Error()
}

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer, now time.Time) {
	if len(r.Caches) > 0 {
		fmt.Fprintf(w, "%-12s %10s %8s  %-18s  %s\n", "TOOL", "SIZE", "FILES", "WRITTEN", "WHERE")
	}
	total := int64(0)
	for i := range r.Caches {
		c := &r.Caches[i]
		total += c.Bytes
		written := "–"
		if !c.Newest.IsZero() {
			written = human.Age(c.Newest, now)
		}
		by := ""
		if c.By != "default" {
			by = " (" + c.By + ")"
		}
		fmt.Fprintf(w, "%-12s %10s %8d  %-18s  %s%s\n", c.Tool, human.Size(c.Bytes), c.Files, written, human.Printable(c.Dir, false), by)
		if c.Error != "" {
			fmt.Fprintf(w, "    %s\n", human.Printable(c.Error, false))
		}
		for _, p := range c.Programs {
			fmt.Fprintf(w, "    %s, %s: %s\n", human.Plural(p.Count, "program"), human.Size(p.Bytes), human.Printable(cmp.Or(p.Device, p.Kind), false))
		}
		if c.Links > 0 {
			fmt.Fprintf(w, "    %s not followed\n", human.Plural(c.Links, "link"))
		}
		if c.Portable != nil && c.Error == "" || c.Portable != nil && c.Portable.Looked > 0 {
			fmt.Fprintf(w, "    %s\n", human.Printable(c.Portable.words(), false))
		}
	}
	if len(r.Caches) > 0 {
		fmt.Fprintf(w, "%s in %s\n", human.Size(total), human.Plural(len(r.Caches), "cache"))
	}
	if len(r.Absent) > 0 {
		fmt.Fprintf(w, "nothing is here of %s\n", strings.Join(r.Absent, ", "))
	}
}

// words says what tells of this machine.
func (p *Portable) words() string {
	switch {
	case p.Looked == 0:
		return "empty"
	case p.Paths == 0 && p.Hosts == 0:
		return fmt.Sprintf("%s looked into: none holds a path or the name of this machine, unless it is compressed", human.Plural(p.Looked, "file"))
	}
	var texts []string
	if p.Paths > 0 {
		texts = append(texts, fmt.Sprintf("%d with paths", p.Paths))
	}
	if p.Hosts > 0 {
		texts = append(texts, fmt.Sprintf("%d with the name of this machine", p.Hosts))
	}
	return fmt.Sprintf("not portable as it is: of %s %s: %s", human.Plural(p.Looked, "file"), strings.Join(texts, ", "), strings.Join(p.Texts, ", "))
}
