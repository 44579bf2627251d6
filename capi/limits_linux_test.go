package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/kernstash/kernstash/internal/cbuild"
	"github.com/kernstash/kernstash/internal/needs"
)

const noRoom = "unavailable: the limits of the process (ulimit -v, -d, -u) leave no room for the library\n"

// A program that is linked with the library starts under limits that leave no room
// for the library: it does without.
func TestLimits(t *testing.T) {
	t.Parallel()
	lib := cbuild.Library(t)
	program := lib.Compile(t, []string{"testdata/limits.c"})
	for limit, want := range map[string]string{
		"true":                "built\n",
		"ulimit -v 200000":    noRoom,
		"ulimit -v 1000000":   noRoom,
		"ulimit -v 4000000":   noRoom,
		"ulimit -v 5000000":   "built\n",
		"ulimit -d 50000":     noRoom,
		"ulimit -d 100000":    noRoom,
		"ulimit -d 600000":    "built\n",
		"ulimit -s unlimited": "built\n",
	} {
		t.Run(limit, func(t *testing.T) {
			t.Parallel()
			for _, crash := range []string{"", "crash"} {
				cmd := exec.Command("sh", "-c", limit+` && exec "$0" `+crash, program)
				cmd.Env = []string{"KERNSTASH_DIR=" + filepath.Join(t.TempDir(), "root")}
				out, err := cmd.CombinedOutput()
				if string(out) != want || err != nil && crash == "" {
					t.Errorf("%v: %q, want %q", err, out, want)
				}
				if crash != "" && signalOf(err) != syscall.SIGSEGV {
					t.Errorf("%v: %q, want a crash", err, out)
				}
			}
		})
	}
}

// A user who may have few threads: the library does not end who loads it.
func TestLimitOfThreads(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("NOT RUN: only root can be a user without other processes")
	}
	lib := cbuild.Library(t)
	dir, err := os.MkdirTemp("", "kernstash-threads-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for name, from := range map[string]string{
		"libkernstash.so.1": lib.Library, "libkernstash-go.so.1": lib.Go, "program": lib.Compile(t, []string{"testdata/limits.c"}),
	} {
		b, err := os.ReadFile(from)
		if err == nil {
			err = needs.WriteProgram(filepath.Join(dir, name), b, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	user := uint32(100000 + os.Getpid()%100000)
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "root"), 0o700), os.Chown(filepath.Join(dir, "root"), int(user), int(user))); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[string]string{"1": noRoom, "4": noRoom, "10": noRoom, "100": "built\n"} {
		cmd := exec.Command("sh", "-c", "ulimit -p "+limit+" && exec ./program")
		cmd.Dir = dir
		cmd.Env = []string{"LD_LIBRARY_PATH=" + dir, "KERNSTASH_DIR=" + filepath.Join(dir, "root")}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("%s threads: %v: %q, want %q", limit, err, out, want)
		}
	}
}
