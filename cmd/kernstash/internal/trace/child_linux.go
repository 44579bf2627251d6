//go:build amd64 || arm64

package trace

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// The names under which an executable with this package is started, to stand in for a command,
// and to let processes run.
const (
	childName  = "kernstash: the command is executed"
	keeperName = "kernstash: processes run on"
	probeName  = "kernstash: a file that is looked for"
)

// Messages between Run and the child.
const (
	granted = 'y' // with the listener; the command is to be executed, traced
	refused = 'n'
)

func init() {
	if len(os.Args) > 4 && os.Args[0] == childName {
		child(os.Args[1:])
	}
	if len(os.Args) > 0 && os.Args[0] == keeperName {
		keep(3, os.Args[1:])
		os.Exit(0)
	}
}

// child executes the command: on this thread with the filter, or on another one that has never
// heard of it.
func child(args []string) {
	runtime.LockOSThread()
	socket, _ := strconv.Atoi(args[0])
	unix.CloseOnExec(socket)
	for s := range strings.FieldsSeq(args[1]) {
		n, _ := strconv.Atoi(s)
		signal.Ignore(syscall.Signal(n))
	}
	execute := func() {
		errno, _ := syscall.Exec(args[2], args[3:], os.Environ()).(syscall.Errno)
		_, _ = unix.Write(socket, fmt.Append(nil, int(errno)))
		os.Exit(127)
	}
	traced, touched := offer(socket)
	if traced || !touched {
		execute()
	}
	go func() {
		runtime.LockOSThread()
		execute()
	}()
	select {}
}

// offer sends a listener, and reports whether it is used.
func offer(socket int) (traced, touched bool) {
	l, touched, err := install()
	if err == nil {
		err = unix.Sendmsg(socket, []byte{granted}, unix.UnixRights(int(l)), nil, 0)
		_ = unix.Close(int(l)) // a call fails where nobody listens
	}
	if err != nil {
		_ = tell(socket, false)
		return false, touched
	}
	if !told(socket) {
		return false, true
	}
	err = unix.Faccessat(unix.AT_FDCWD, probeName, unix.F_OK, 0)
	return told(socket) && err != unix.ENOSYS, true
}

// tell answers the child, or Run.
func tell(socket int, yes bool) error {
	message := []byte{refused}
	if yes {
		message[0] = granted
	}
	_, err := unix.Write(socket, message)
	return err
}

// told waits for an answer.
func told(socket int) bool {
	message := make([]byte, 1)
	n, err := read(socket, message)
	return err == nil && n == 1 && message[0] == granted
}

func read(socket int, message []byte) (n int, err error) {
	for {
		if n, err = unix.Read(socket, message); err != unix.EINTR {
			return n, err
		}
	}
}

// received returns the listener that the child offers. none reports whether it offers none; where
// it is lost, the child waits for an answer.
func received(socket int) (l listener, none bool) {
	message, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	var n, size int
	err := error(unix.EINTR)
	for err == unix.EINTR {
		n, size, _, _, err = unix.Recvmsg(socket, message, rights, unix.MSG_CMSG_CLOEXEC)
	}
	if err != nil {
		n, _ = read(socket, message)
	}
	none = n == 0 || message[0] == refused
	all, err := unix.ParseSocketControlMessage(rights[:size])
	if none || err != nil || len(all) != 1 {
		return -1, none
	}
	fds, err := unix.ParseUnixRights(&all[0])
	if err != nil || len(fds) != 1 {
		return -1, false
	}
	return listener(fds[0]), false
}

// failure waits until the child has executed the command, or returns why it could not.
func failure(socket int) syscall.Errno {
	message := make([]byte, 16)
	n, err := read(socket, message)
	if err != nil || n == 0 {
		return 0
	}
	errno, _ := strconv.Atoi(string(message[:n]))
	return syscall.Errno(errno)
}

// keep lets processes make their calls until all have ended. Where one of them is never waited for,
// the kernel does not tell of that.
func keep(l listener, pids []string) {
	seen := make(map[string]bool)
	for _, pid := range pids {
		seen[pid] = true
	}
	for {
		var n notification
		ok, err := l.receive(&n, 10_000)
		switch {
		case ok:
			seen[strconv.Itoa(int(n.pid))] = true
			if _, err := l.allow(&n); err != nil {
				return
			}
		case err != nil || !anyAlive(seen):
			return
		}
	}
}

// anyAlive reports whether one of some processes runs, and forgets those that do not.
func anyAlive(pids map[string]bool) bool {
	for pid := range pids {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		_, state, _ := strings.Cut(string(stat), ") ")
		if err == nil && !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X") {
			return true
		}
		delete(pids, pid)
	}
	return false
}
