//go:build !linux

package frameworks

import (
	"io/fs"
	"time"
)

// accessed returns when a file was written: where nothing else is known it was used then.
func accessed(info fs.FileInfo) time.Time { return info.ModTime() }
