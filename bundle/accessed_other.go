//go:build !linux

package bundle

import (
	"io/fs"
	"time"
)

func accessed(fs.FileInfo) (at time.Time, known bool) { return time.Time{}, false }
