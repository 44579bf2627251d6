package manifest

import (
	"path/filepath"
	"strings"

	"github.com/kernstash/kernstash/deps/internal/files"
)

// Ways are the directories and symbolic links that lead to what a unit reads and looks
// for, as they were at one moment. A directory that is another one while a compiler runs,
// and is back when it ends, has the same files as before: only the way to it shows it.
// Ways are safe for concurrent use.
type Ways struct {
	at map[string]files.Way
}

// maxLinks is how many links a path may lead over, as for the kernel.
const maxLinks = 40

// Ways looks at the ways to the files and probes of m.
func (m *Manifest) Ways() *Ways {
	w := &Ways{at: make(map[string]files.Way)}
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
		found, _ := files.OS.LookAt(part)
		if found.Kind != files.Link && found.Kind != files.RealDirectory {
			continue // files have stamps of their own
		}
		w.at[part] = found
		if found.Kind != files.Link || links == 0 {
			continue
		}
		target := found.Target
		if !filepath.IsAbs(target) {
			target = files.Parent(part) + "/" + target
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
		if now, _ := files.OS.LookAt(path); now.ChangedSince(was) {
			return path
		}
	}
	return ""
}
