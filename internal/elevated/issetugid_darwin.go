package elevated

import "golang.org/x/sys/unix"

// atStart reports whether the program was started with another's rights, or
// changed them since: issetugid(2).
func atStart() bool { return unix.Issetugid() }
