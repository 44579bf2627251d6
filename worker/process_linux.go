package worker

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// alone gives a builder a session of its own, and so a group, which ends as one.
func alone(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
}

// detach gives a worker a session of its own.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// end ends what a builder left of its group.
func end(cmd *exec.Cmd) { _ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }

const (
	ioprioIdle    = 3 << 13 // IOPRIO_CLASS_IDLE
	ioprioProcess = 1       // IOPRIO_WHO_PROCESS
	leastNice     = 19
)

// start starts a builder, at the lowest priority if idle: for processor and disk, it
// goes when nobody else wants to. A process has the priorities of the thread that
// starts it, so that is one which nobody else uses, and which ends.
func start(cmd *exec.Cmd, idle bool) error {
	if !idle {
		return cmd.Start()
	}
	started := make(chan error, 1)
	go func() {
		yield()
		started <- cmd.Start()
	}()
	return <-started
}

// yield gives the goroutine a thread of its own, at the lowest priority, which ends
// with the goroutine.
func yield() {
	runtime.LockOSThread() // never unlocked
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, leastNice)
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE, Nice: leastNice}, 0)
	_, _, _ = unix.Syscall(unix.SYS_IOPRIO_SET, ioprioProcess, 0, ioprioIdle)
}

// YieldSession makes the session of this process, if it began one, go when no other session wants to. Linux shares
// processors among sessions before it looks at what is in them (autogroups): a process of the lowest priority that is
// alone in its session takes as much as all of an application's.
func YieldSession() {
	if sid, err := unix.Getsid(0); err != nil || sid != os.Getpid() {
		return
	}
	for range 5 { // one write a tenth of a second is taken, whoever's it is, but for root's
		if err := os.WriteFile("/proc/self/autogroup", []byte(strconv.Itoa(leastNice)), 0); !errors.Is(err, unix.EAGAIN) {
			return
		}
		time.Sleep(110 * time.Millisecond)
	}
}

// CloseInherited closes the descriptors from first on that this process has from
// whoever started it: somebody may wait for the other end of a pipe to close. It is to
// be called before anything is opened. What Go's runtime has opened by then stays.
func CloseInherited(first int) {
	dir, err := os.Open("/proc/self/fd")
	if err != nil {
		return
	}
	names, _ := dir.Readdirnames(-1)
	dir.Close()
	for _, n := range names {
		fd, err := strconv.Atoi(n)
		if err != nil || fd < first {
			continue
		}
		to, err := os.Readlink("/proc/self/fd/" + n)
		if err != nil || strings.HasPrefix(to, "anon_inode:") || strings.HasPrefix(to, "/sys/fs/cgroup/") || strings.HasPrefix(to, "/proc/") {
			continue
		}
		_ = unix.Close(fd)
	}
}

// queue is for how long the threads of a builder were ready to run while others had the
// processor. It is safe for use by several goroutines.
type queue struct {
	mu    sync.Mutex
	pid   int
	turns map[string]turn // of the threads that were ready when they were last looked at
}

// turn is what a thread had had when it was looked at.
type turn struct {
	stat  [3]int64 // nanoseconds run and waited, and how often it was given a processor
	since time.Time
}

// watch tells which process it is about.
func (q *queue) watch(pid int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pid = pid
}

// look returns for how long the thread that waited longest has waited; 0 where the system
// does not tell, or there is no process yet. The system adds a wait up when it ends, and the
// one in which a builder is given up has not: a thread that is ready, and has had no turn
// since it was last looked at, has waited since. So somebody looks now and then.
func (q *queue) look() (longest time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.pid == 0 {
		return 0
	}
	now, turns := time.Now(), make(map[string]turn)
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", q.pid))
	for _, thread := range threads {
		b, err := os.ReadFile(filepath.Join(thread, "schedstat"))
		if err != nil {
			continue
		}
		t := turn{since: now}
		if _, err := fmt.Sscan(string(b), &t.stat[0], &t.stat[1], &t.stat[2]); err != nil {
			continue
		}
		waited := time.Duration(t.stat[1])
		if ready(thread) {
			if last := q.turns[thread]; last.stat == t.stat && !last.since.IsZero() {
				t.since = last.since
			}
			turns[thread] = t
			waited += now.Sub(t.since)
		}
		longest = max(longest, waited)
	}
	q.turns = turns
	return longest
}

// ready reports whether a thread runs, or would.
func ready(thread string) bool {
	b, err := os.ReadFile(filepath.Join(thread, "stat"))
	if err != nil {
		return false
	}
	_, state, ok := bytes.Cut(b[max(0, bytes.LastIndexByte(b, ')')):], []byte(") "))
	return ok && bytes.HasPrefix(state, []byte("R"))
}
