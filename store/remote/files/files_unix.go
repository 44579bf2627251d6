//go:build unix

package files

import "syscall"

const nonblock = syscall.O_NONBLOCK // a pipe that somebody put there does not hang

var errQuota error = syscall.EDQUOT
