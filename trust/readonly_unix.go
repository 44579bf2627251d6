//go:build unix && !linux

package trust

import "golang.org/x/sys/unix"

const readOnlyFlag = unix.MNT_RDONLY
