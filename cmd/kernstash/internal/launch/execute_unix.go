//go:build unix

package launch

import "golang.org/x/sys/unix"

// mayExecute says whether this process may execute a file, as the kernel has it:
// whoever has the file, and whatever it is mounted from.
func mayExecute(file string) error {
	return unix.Faccessat(unix.AT_FDCWD, file, unix.X_OK, unix.AT_EACCESS)
}
