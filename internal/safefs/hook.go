package safefs

import (
	"errors"
	"syscall"
)

// Op names a system call, or one of the ways to use it that fail apart.
type Op string

// The system calls of this package, and of those that build on it.
const (
	OpOpen      Op = "open"
	OpOpenat    Op = "openat"
	OpOpenat2   Op = "openat2"
	OpCreate    Op = "openat O_CREAT"
	OpTmpfile   Op = "openat O_TMPFILE"
	OpFstat     Op = "fstat"
	OpFstatat   Op = "fstatat"
	OpPread     Op = "pread"
	OpPwrite    Op = "pwrite"
	OpUtimens   Op = "utimensat"
	OpLink      Op = "linkat"
	OpLinkFD    Op = "linkat AT_EMPTY_PATH"
	OpLinkProc  Op = "linkat /proc/self/fd"
	OpRename    Op = "renameat"
	OpUnlink    Op = "unlinkat"
	OpRmdir     Op = "unlinkat AT_REMOVEDIR"
	OpMkdir     Op = "mkdirat"
	OpMkdirAll  Op = "mkdir -p"
	OpChmod     Op = "fchmod"
	OpGetdents  Op = "getdents"
	OpClose     Op = "close"
	OpLock      Op = "fcntl F_OFD_SETLK"
	OpLockFreed Op = "fcntl F_UNLCK"
)

// Hook lets tests make system calls fail, or fall short. A nil *Hook, which is
// what programs have, costs one comparison a call.
type Hook struct {
	// Before is asked before every system call; size is how many bytes a read
	// or write is about, else 0. An error is what the call answers instead of
	// being made (a close is made as well). most, where it is less than size,
	// is how many bytes a read or write may move at most: 0 is the end of the
	// file, or a full medium.
	Before func(op Op, size int) (most int, err error)
}

// ask returns what the call answers instead of being made, if anything.
func (h *Hook) ask(op Op) error {
	if h == nil {
		return nil
	}
	_, err := h.Before(op, 0)
	return err
}

// limit cuts b to what a read or write may move.
func (h *Hook) limit(op Op, b []byte) ([]byte, error) {
	if h == nil {
		return b, nil
	}
	most, err := h.Before(op, len(b))
	return b[:max(min(most, len(b)), 0)], err
}

// do makes a call, again where a signal interrupted it: on network file
// systems, and on those in user space, any may be.
func (h *Hook) do(op Op, call func() error) error {
	for {
		err := h.ask(op)
		if err == nil {
			err = call()
		}
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// Before asks the hook of o about a call that is made elsewhere.
func (o Options) Before(op Op) error { return o.Hook.ask(op) }
