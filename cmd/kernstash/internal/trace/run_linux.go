//go:build amd64 || arm64

package trace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// ourselves is what is executed in the command's place, to execute it.
	ourselves = "/proc/self/exe"
	// leave is how long a process may live on after the command, to be part of it.
	leave = 500 * time.Millisecond
)

// Run runs cmd as [exec.Cmd.Run] does, whose error it returns, and records what its processes do with files.
//
// r is nil where the system allows no tracing: it is Linux before 5.9, gVisor, a container that
// filters what is needed, or Run is called by a command that is traced so. The command has run then,
// once, untraced.
//
// A process that lives on after the command is let go, and the record is unclear. Where our process
// is killed, the system calls of the command that name files fail with ENOSYS from then on.
func Run(cmd *exec.Cmd) (r *Record, err error) {
	if !traceable(cmd) {
		return nil, cmd.Run()
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, cmd.Run()
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "socket"), os.NewFile(uintptr(pair[1]), "socket")
	defer ours.Close()
	if err := start(cmd, theirs); err != nil {
		return nil, err
	}
	f := follow(cmd, pair[0])
	errno := failure(pair[0])
	err = cmd.Wait()
	if f != nil {
		r = f.end()
	}
	if errno != 0 {
		cmd.Process, cmd.ProcessState = nil, nil
		return nil, &fs.PathError{Op: "fork/exec", Path: cmd.Path, Err: errno}
	}
	return r, err
}

// traceable reports whether a process of ours can stand in for cmd.
func traceable(cmd *exec.Cmd) bool {
	if a := cmd.SysProcAttr; a != nil && (a.Ptrace || a.Chroot != "" || a.Credential != nil) {
		return false
	}
	return unix.Access(ourselves, unix.X_OK) == nil
}

// start starts a process of ours with all that cmd is to have, and theirs, which it closes here.
func start(cmd *exec.Cmd, theirs *os.File) error {
	defer theirs.Close()
	path, args, files := cmd.Path, cmd.Args, cmd.ExtraFiles
	defer func() { cmd.Path, cmd.Args, cmd.ExtraFiles = path, args, files }()
	if len(args) == 0 {
		args = []string{path}
	}
	inherited := inheritedFrom(3 + len(files))
	defer func() {
		for _, f := range inherited {
			_ = f.Close()
		}
	}()
	cmd.Path, cmd.ExtraFiles = ourselves, append(slices.Concat(files, inherited), theirs)
	cmd.Args = append([]string{childName, strconv.Itoa(2 + len(cmd.ExtraFiles)), ignored(), path}, args...)
	err := cmd.Start()
	if e := new(fs.PathError); errors.As(err, &e) && e.Path == ourselves {
		e.Path = path
	}
	return err
}

// inheritedFrom returns the files that a command inherits as descriptors, from a number on up to the first that is free for
// another.
func inheritedFrom(n int) (all []*os.File) {
	for ; ; n++ {
		if flags, err := unix.FcntlInt(uintptr(n), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC != 0 {
			return all
		}
		fd, err := unix.FcntlInt(uintptr(n), unix.F_DUPFD_CLOEXEC, n)
		if err != nil {
			return all
		}
		all = append(all, os.NewFile(uintptr(fd), "inherited"))
	}
}

// ignored lists the signals that a process of exec.Cmd ignores.
func ignored() (list string) {
	for s := syscall.Signal(1); s < 32; s++ {
		if signal.Ignored(s) {
			list += fmt.Sprint(int(s), " ")
		}
	}
	return list
}

// A following records while the command runs.
type following struct {
	recorder
	stop  atomic.Bool
	ended chan error
}

// follow begins to record what the child does before it executes the command. It returns nil where
// the system does not allow that.
func follow(cmd *exec.Cmd, socket int) *following {
	l, none := received(socket)
	if l < 0 {
		if !none {
			_ = tell(socket, false)
		}
		return nil
	}
	f := &following{ended: make(chan error, 1)}
	f.recorder = recorder{
		listener: l, main: uint32(cmd.Process.Pid), files: make(map[string]*File),
		seen: make(map[uint32]bool), programs: make(map[uint32]string), restless: make(map[string]bool),
	}
	if tell(socket, true) != nil || !f.probe() || tell(socket, true) != nil {
		_ = unix.Close(int(l)) // first, as the child's probe may wait
		_ = tell(socket, false)
		return nil
	}
	go func() {
		var err error
		for err == nil && !f.stop.Load() {
			_, err = f.next(100)
		}
		if err != nil { // nobody is to wait for us, if there is somebody
			_ = unix.Close(int(l))
		}
		f.ended <- err
	}()
	return f
}

// probe has the child look for a file, and reports whether that was recorded.
func (r *recorder) probe() bool {
	if !r.complete() {
		return false
	}
	r.hurry()
	for {
		some, err := r.next(100)
		if err != nil {
			return false
		}
		if some {
			break
		}
	}
	dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", r.main))
	f := r.files[tidy(dir+"/"+probeName)]
	ok := err == nil && f != nil && f.Uses == Looked && r.unclear == ""
	clear(r.files)
	return ok
}

// end returns the record once all processes have ended, or were left to end as they like.
func (f *following) end() *Record {
	var err error
	select {
	case err = <-f.ended:
	case <-time.After(leave):
		f.stop.Store(true)
		err = <-f.ended
	}
	if err == nil {
		f.letGo()
		_ = unix.Close(int(f.listener))
	}
	if !errors.Is(err, errGone) && f.unclear == "" {
		f.unclear = "a process lived on after the command"
		if err != nil {
			f.unclear = err.Error()
		}
	}
	return f.record()
}

// letGo starts a process of ours that lets all calls run of the processes that are still there.
func (f *following) letGo() {
	cmd := exec.Command(ourselves)
	cmd.Args = []string{keeperName}
	for pid := range f.seen {
		cmd.Args = append(cmd.Args, strconv.Itoa(int(pid)))
	}
	fd, err := unix.FcntlInt(uintptr(f.listener), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return
	}
	l := os.NewFile(uintptr(fd), "listener")
	defer l.Close()
	cmd.Dir, cmd.ExtraFiles, cmd.SysProcAttr = "/", []*os.File{l}, &syscall.SysProcAttr{Setsid: true}
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }()
	}
}
