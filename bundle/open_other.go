//go:build !unix

package bundle

import "io/fs"

const nonblocking = 0

func owner(fs.FileInfo) (uid int, known bool) { return 0, false }
