package deps

import (
	"path/filepath"
	"strings"
)

// Ways are the directories and symbolic links that lead to what a unit reads and looks
// for, as they were at one moment. A directory that is another one while a compiler runs,
// and is back when it ends, has the same files as before: only the way to it shows it.
// Ways are safe for concurrent use.
type Ways struct {
	at map[string]way
}

// way is what is found at a path without following it.
type way struct {
	kind   kind
	target string // of a link
	stamp
}

// maxLinks is how many links a path may lead over, as for the kernel.
const maxLinks = 40

// Ways looks at the ways to the files and probes of m.
func (m *Manifest) Ways() *Ways {
	w := &Ways{at: make(map[string]way)}
	for _, r := range m.reads {
		w.add(r.Path, maxLinks)
	}
	for _, p := range m.probes {
		w.add(p.Path, maxLinks)
	}
	return w
}

// add looks at each part of a path, and where links lead.
func (w *Ways) add(path string, links int) {
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		part := path[:i]
		if _, known := w.at[part]; known {
			continue
		}
		found := lookWay(part)
		if found.kind != aLink && found.kind != realDirectory {
			continue // files have stamps of their own
		}
		w.at[part] = found
		if found.kind != aLink || links == 0 {
			continue
		}
		target := found.target
		if !filepath.IsAbs(target) {
			target = parent(part) + "/" + target
		}
		w.add(strings.TrimSuffix(target, "/"), links-1)
	}
}

// Changed names a directory or link that is another, or was for a moment; "" says that
// there is none.
func (w *Ways) Changed() string {
	if w == nil {
		return ""
	}
	for path, was := range w.at {
		if now := lookWay(path); now.changedSince(was) {
			return path
		}
	}
	return ""
}

// changedSince reports whether w is not what was there, or has been somewhere else. A
// directory that was renamed has a change time of its own; one in which a file was made
// has the same as the time of its content.
func (w way) changedSince(was way) bool {
	if w.kind != was.kind || w.inode != was.inode || w.target != was.target {
		return true
	}
	return w.ctime != was.ctime && (w.kind == aLink || w.ctime != w.mtime)
}
