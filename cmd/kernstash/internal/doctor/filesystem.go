package doctor

import (
	"github.com/kernstash/kernstash/cmd/kernstash/internal/volume"
	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/internal/human"
)

// checkFileSystem says what holds a directory, or would.
func (r *Report) checkFileSystem(subject, dir string) {
	f, err := volume.Of(dir)
	if err != nil || f.Kind == "" {
		r.Add(subject, tool.Info, "", "the type of the file system cannot be told")
		return
	}
	r.Add(subject, tool.Info, "", "on %s, %s free", f.Kind, human.Size(f.Free))
	const tight = 64 << 20
	if f.Free < tight {
		r.Add(subject, tool.Warn, "make room, or set another directory (KERNSTASH_DIR)", "little room is left")
	}
	if f.Network {
		r.Add(subject, tool.Warn, "a local directory starts faster",
			"%s is shared between machines: locks may not work, and what another machine stored may be seen late", f.Kind)
	}
	if f.Memory {
		r.Add(subject, tool.Warn, "set a directory on a disk (KERNSTASH_DIR)", "%s is empty again after a restart", f.Kind)
	}
}
