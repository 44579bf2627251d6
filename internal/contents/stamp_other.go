//go:build !linux

package contents

import "io/fs"

func stampOf(st fs.FileInfo) Stamp {
	return Stamp{Size: st.Size(), Mtime: st.ModTime().UnixNano()}
}
