package agent

import (
	"fmt"
	"net"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// errTimeout is that of a deadline.
var errTimeout = os.ErrDeadlineExceeded

// peer is who connected, as the kernel says.
type peer struct {
	uid  uint32
	gids []uint32 // the supplementary ones, too
	pid  int32    // 0 where it is not in a namespace that is seen from here
}

func peerOf(c *net.UnixConn) (p peer, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return p, err
	}
	if e := raw.Control(func(fd uintptr) { p, err = peerAt(int(fd)) }); e != nil {
		err = e
	}
	return p, err
}

func peerAt(fd int) (peer, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return peer{}, fmt.Errorf("peer's credentials: %w", err)
	}
	p := peer{uid: cred.Uid, gids: []uint32{cred.Gid}, pid: cred.Pid}
	groups := make([]uint32, 64)
	for range 2 {
		size := uint32(len(groups) * 4)
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(&groups[0])), uintptr(unsafe.Pointer(&size)), 0)
		if errno == unix.ERANGE {
			groups = make([]uint32, size/4)
			continue
		}
		if errno == 0 {
			p.gids = append(p.gids, groups[:size/4]...)
		}
		break
	}
	return p, nil
}

// watchProcess returns what says whether the process that connected lives, as far as that can be told.
func (x *session) watchProcess() (alive func() bool, end func()) {
	fd, err := -1, error(unix.ENOSYS)
	if raw, e := x.c.SyscallConn(); e == nil {
		// Of that process itself: its number may be another one's by now. Since Linux 6.5.
		_ = raw.Control(func(c uintptr) { fd, err = unix.GetsockoptInt(int(c), unix.SOL_SOCKET, unix.SO_PEERPIDFD) })
	}
	if err == unix.EINVAL || err == unix.ESRCH { // it has ended
		return func() bool { return false }, func() {}
	}
	if err != nil && x.peer.pid > 0 {
		fd, err = unix.PidfdOpen(int(x.peer.pid), 0)
	}
	if fd < 0 || err != nil {
		return func() bool { return true }, func() {}
	}
	return func() bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return err != nil || n == 0
	}, func() { _ = unix.Close(fd) }
}
