package build

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/kernstash/kernstash/worker"
)

// yield makes this process the first that the system ends when memory is scarce,
// and leaves no core of a compiler that crashes. Where the worker gave it the lowest
// priority its session has that, too.
func yield() {
	if attr, err := unix.SchedGetAttr(0, 0); err == nil && attr.Policy == unix.SCHED_IDLE {
		worker.YieldSession()
	}
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
}

// killGroup ends the group of this process, if it is its own.
func killGroup() {
	if pid := os.Getpid(); unix.Getpgrp() == pid {
		_ = unix.Kill(-pid, unix.SIGKILL)
	}
}
