//go:build unix

package worker

import (
	"os"
	"syscall"
)

// ofUs says whether a program that lies beside a library is of whoever the library is
// of, of this user, or of root: a directory above the library may be /tmp, where
// anybody can lay something.
func ofUs(path, library string) bool {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&0o002 != 0 {
		return false
	}
	owner, ok := ownerOf(info)
	if !ok || owner == 0 || int(owner) == os.Geteuid() {
		return ok
	}
	info, err = os.Stat(library)
	if err != nil {
		return false
	}
	other, ok := ownerOf(info)
	return ok && owner == other
}

func ownerOf(info os.FileInfo) (uint32, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return st.Uid, true
}
