//go:build !linux

package elfid

import "io/fs"

// stamp tells one state of one file from another, as far as this system says.
type stamp struct {
	path string
	size int64
	nsec int64
}

func stampOf(path string, st fs.FileInfo) stamp {
	return stamp{path, st.Size(), st.ModTime().UnixNano()}
}
