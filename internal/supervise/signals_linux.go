//go:build amd64 || arm64

package supervise

import (
	"errors"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// numSignals is the number of the last signal.
const numSignals = 64

// startIgnored and startClosed say which signals were ignored (bit n-1) and
// which standard descriptors closed when the kernel started the program. They
// are filled in by kernstash_start, if the linker made that the entry
// (-ldflags='-E kernstash_start'): the Go runtime changes both before any Go
// code runs. startKnown is 1 then.
var startIgnored, startClosed, startKnown uint64

// inheritIgnored has the command ignore what was ignored when we were started.
// The Go runtime leaves SIGHUP and SIGINT alone; systemd has SIGPIPE ignored. Who
// waits for the command cannot ignore SIGCHLD: all says that nobody does.
func inheritIgnored(all bool) {
	if startKnown == 0 && signal.Ignored(syscall.SIGINT) {
		signal.Ignore(syscall.SIGQUIT) // shells start jobs in the background so
	}
	for sig := syscall.Signal(1); sig <= numSignals; sig++ {
		if startIgnored&(1<<(sig-1)) != 0 && (passable(sig) || all) && !signal.Ignored(sig) {
			signal.Ignore(sig)
		}
	}
}

// passable says whether a signal to us is the command's. The others are faults
// of ours, the runtime's own, or what nobody can catch.
func passable(sig syscall.Signal) bool {
	switch sig {
	case syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGCHLD, syscall.SIGURG,
		syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGSYS,
		32, 33:
		return false
	}
	return sig >= 1 && sig <= numSignals
}

// signals are those that come to this process, in a pipe.
type signals struct {
	pipe int
}

// siginfo is the kernel's structure of that name.
type siginfo struct {
	signo, errno, code, _ int32
	pid                   int32
	uid                   uint32
	_                     [104]byte
}

// Where a signal comes from.
const (
	fromKernel = 0x80 // and everything above 0
	fromQueue  = -1   // sigqueue(3), with a value
)

// sigaction is the kernel's structure of that name.
type sigaction struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

const (
	saSiginfo  = 0x4
	saOnstack  = 0x08000000
	saRestart  = 0x10000000
	saRestorer = 0x04000000
)

// handlerPipe is where the handler writes to.
//
//lint:ignore U1000 assembly reads it
var handlerPipe int32 = -1

// handlerPC and restorerPC are the addresses of functions that only the kernel
// calls.
func handlerPC() uintptr
func restorerPC() uintptr

//lint:ignore U1000 the kernel calls it
func handler()

//lint:ignore U1000 the kernel calls it
func restorer()

// watch takes all signals over that are not ignored.
func watch() (*signals, error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(p[1], true); err != nil {
		return nil, err
	}
	handlerPipe = int32(p[1])
	s := &signals{pipe: p[0]}
	for sig := syscall.Signal(1); sig <= numSignals; sig++ {
		if passable(sig) && !signal.Ignored(sig) {
			if err := s.install(sig); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

func (s *signals) install(sig syscall.Signal) error {
	sa := sigaction{
		handler: handlerPC(), restorer: restorerPC(), mask: ^uint64(0),
		flags: saSiginfo | saOnstack | saRestart | saRestorer,
	}
	return setAction(sig, &sa)
}

func setDefault(sig syscall.Signal) error { return setAction(sig, &sigaction{}) }

func setAction(sig syscall.Signal, sa *sigaction) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(sa)), 0, 8, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// unblock lets a signal come to this thread.
func unblock(sig syscall.Signal) error {
	runtime.LockOSThread()
	set := uint64(1) << (sig - 1)
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_UNBLOCK, uintptr(unsafe.Pointer(&set)), 0, 8, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// forward passes on what comes, for as long as the process lives.
func (s *signals) forward(child, pidfd int) {
	leader, _ := unix.Getsid(0)
	for {
		var info siginfo
		b := unsafe.Slice((*byte)(unsafe.Pointer(&info)), unsafe.Sizeof(info))
		n, err := unix.Read(s.pipe, b) // whole: writes of one siginfo are atomic
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n != len(b) {
			return
		}
		if info.isForChild(child, leader == os.Getpid()) {
			send(&info, child, pidfd)
		}
	}
}

// isForChild says whether a signal that came to us has not come to the child by
// itself. leader: this process leads its session.
func (info *siginfo) isForChild(child int, leader bool) bool {
	if info.code > 0 { // the kernel's
		switch syscall.Signal(info.signo) {
		case syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU,
			syscall.SIGWINCH, syscall.SIGCONT:
			return false // a terminal's, to the whole group
		case syscall.SIGHUP:
			return leader // of a terminal that is gone
		}
		return true // SIGALRM: a timer lives on over exec
	}
	// What the command sends to its group, or to its parent, is not for it. A
	// sender of pid 0 is outside of our container.
	from := int(info.pid)
	return from != os.Getpid() && (from == 0 || !descends(from, child))
}

// send sends a signal on, with its value if it has one.
func send(info *siginfo, child, pidfd int) {
	sig := syscall.Signal(info.signo)
	var with unsafe.Pointer
	if info.code == fromQueue {
		with = unsafe.Pointer(info)
	}
	if pidfd >= 0 {
		_, _, errno := unix.Syscall6(unix.SYS_PIDFD_SEND_SIGNAL, uintptr(pidfd), uintptr(sig), uintptr(with), 0, 0, 0)
		if errno == 0 || errno == unix.ESRCH {
			return
		}
	}
	_ = unix.Kill(child, sig)
}
