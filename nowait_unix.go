//go:build unix

package kernstash

import "syscall"

// noWait is the flag of open(2) with which opening a FIFO waits for nobody.
const noWait = syscall.O_NONBLOCK
