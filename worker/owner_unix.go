//go:build unix

package worker

import (
	"os"
	"syscall"
)

// ofUs reports whether a program that lies beside a library is of whoever the library is
// of, of this user, or of root: a directory above the library may be /tmp, where
// anybody can lay something.
func ofUs(path, library string) bool {
	var own, other syscall.Stat_t
	if syscall.Stat(path, &own) != nil || own.Mode&0o002 != 0 {
		return false
	}
	return own.Uid == 0 || int(own.Uid) == os.Geteuid() || syscall.Stat(library, &other) == nil && own.Uid == other.Uid
}
