//go:build amd64 || arm64

package trace

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A notification is the kernel's struct seccomp_notif.
type notification struct {
	id         uint64
	pid, flags uint32
	call       int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

// A response is the kernel's struct seccomp_notif_resp.
type response struct {
	id    uint64
	value int64
	err   int32
	flags uint32
}

// A listener is the descriptor by which the kernel tells of system calls.
type listener int

// install has the kernel tell of the system calls that the calling thread and its children make and
// that name files. touched reports whether the thread is changed where there is an error.
func install() (l listener, touched bool, err error) {
	var sizes [3]uint16
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_NOTIF_SIZES, 0, uintptr(unsafe.Pointer(&sizes))); errno != 0 {
		return -1, false, errno
	}
	if sizes != [3]uint16{uint16(unsafe.Sizeof(notification{})), uint16(unsafe.Sizeof(response{})), 64} {
		return -1, false, errors.New("structures of an unknown size")
	}
	filter := program()
	p := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	flags := uintptr(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	for {
		fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&p)))
		switch {
		case errno == 0:
			return listener(fd), true, nil
		case errno == unix.EINVAL && flags&unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV != 0: // Linux 5.19
			flags &^= unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
		case errno == unix.EACCES && !touched:
			if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
				return -1, false, err
			}
			touched = true
		default:
			return -1, touched, errno
		}
	}
}

// program is the filter: the kernel tells of the calls of the tables, of those that are newer than
// these, and of those of other instruction sets. All others run as ever.
func program() (p []unix.SockFilter) {
	const next, allow, tell = 0, 254, 255 // where a jump leads to
	load := func(offset uint32) {
		p = append(p, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
	}
	jump := func(code uint16, k uint32, yes, no uint8) {
		p = append(p, unix.SockFilter{Code: unix.BPF_JMP | code | unix.BPF_K, K: k, Jt: yes, Jf: no})
	}
	load(4)
	jump(unix.BPF_JEQ, nativeArch, next, tell)
	load(0)
	jump(unix.BPF_JGT, lastCall, tell, next)
	for number := range calls {
		jump(unix.BPF_JEQ, uint32(number), tell, next)
	}
	for number := range unclear {
		if number != unix.SYS_RT_SIGACTION {
			jump(unix.BPF_JEQ, uint32(number), tell, next)
		}
	}
	jump(unix.BPF_JEQ, unix.SYS_RT_SIGACTION, next, allow)
	load(16) // its first argument
	for _, s := range interrupting {
		jump(unix.BPF_JEQ, uint32(s), tell, next)
	}
	end := len(p)
	for i := range p {
		for _, to := range []*uint8{&p[i].Jt, &p[i].Jf} {
			if *to != next {
				*to = uint8(end + int(*to) - allow - i - 1)
			}
		}
	}
	ret := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	return append(p, ret(unix.SECCOMP_RET_ALLOW), ret(unix.SECCOMP_RET_USER_NOTIF))
}

// complete reports whether the kernel tells of the end of the last process (Linux 5.9), too.
func (l listener) complete() bool {
	return l.ioctl(unix.SECCOMP_IOCTL_NOTIF_ADDFD, nil) == unix.EFAULT
}

// hurry has a process and its listener wake each other on one processor (Linux 6.6), where that is possible.
func (l listener) hurry() {
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(l), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
}

var errGone = errors.New("all processes have ended")

// receive waits for a system call for some milliseconds. ok is false where there was none.
func (l listener) receive(n *notification, timeout int) (ok bool, err error) {
	p := []unix.PollFd{{Fd: int32(l), Events: unix.POLLIN}}
	switch _, err := unix.Poll(p, timeout); {
	case err == unix.EINTR || err == unix.ENOMEM || err == unix.EAGAIN:
		return false, nil
	case err != nil:
		return false, err
	case p[0].Revents&unix.POLLIN != 0:
		*n = notification{}
		switch err := l.ioctl(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(n)); err {
		case 0:
			return true, nil
		case unix.EINTR, unix.ENOENT:
		default:
			return false, err
		}
	case p[0].Revents != 0:
		return false, errGone
	}
	return false, nil
}

// allow has the call run. It reports false where the process no longer waits for it, and may make it again.
func (l listener) allow(n *notification) (bool, error) {
	r := response{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	switch err := l.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)); err {
	case 0:
		return true, nil
	case unix.ENOENT:
		return false, nil
	default:
		return false, err
	}
}

func (l listener) ioctl(request uintptr, arg unsafe.Pointer) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(l), request, uintptr(arg))
	return errno
}
