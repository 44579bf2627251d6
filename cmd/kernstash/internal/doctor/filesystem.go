package doctor

import (
	"os"
	"path/filepath"

	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/internal/human"
)

// fileSystem is what holds a directory.
type fileSystem struct {
	kind    string // "" where it cannot be told
	network bool   // shared between machines
	memory  bool   // gone after a restart
	free    int64  // bytes that we may use
}

// existing returns dir, or the nearest directory above it that is there.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// checkFileSystem says what holds a directory, or would.
func (r *Report) checkFileSystem(subject, dir string) {
	f, err := fileSystemOf(existing(dir))
	if err != nil || f.kind == "" {
		r.Add(subject, tool.Info, "", "the type of the file system cannot be told")
		return
	}
	r.Add(subject, tool.Info, "", "on %s, %s free", f.kind, human.Size(f.free))
	const tight = 64 << 20
	if f.free < tight {
		r.Add(subject, tool.Warn, "make room, or set another directory (KERNSTASH_DIR)", "little room is left")
	}
	if f.network {
		r.Add(subject, tool.Warn, "a local directory starts faster",
			"%s is shared between machines: locks may not work, and what another machine stored may be seen late", f.kind)
	}
	if f.memory {
		r.Add(subject, tool.Warn, "set a directory on a disk (KERNSTASH_DIR)", "%s is empty again after a restart", f.kind)
	}
}
