package lock

import "golang.org/x/sys/unix"

const setlk = unix.F_OFD_SETLK
