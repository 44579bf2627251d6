//go:build linux && (amd64 || arm64)

package trace_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/kernstash/kernstash/internal/needs"
)

const architecture = runtime.GOARCH

// forbid has the kernel refuse a system call to this process and its children, as containers do.
func forbid(name string) {
	number, ok := map[string]uint32{
		"seccomp": unix.SYS_SECCOMP, "process_vm_readv": unix.SYS_PROCESS_VM_READV, "ptrace": unix.SYS_PTRACE, "sendmsg": unix.SYS_SENDMSG,
		"recvmsg": unix.SYS_RECVMSG, "socketpair": unix.SYS_SOCKETPAIR, "ioctl": unix.SYS_IOCTL,
	}[name]
	if !ok {
		return
	}
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: number, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	p := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&p))); errno != 0 {
		panic(errno)
	}
	runtime.UnlockOSThread()
}

// Where the kernel refuses what tracing needs, the command runs once, untraced. ptrace is not needed.
func TestTracingRefused(t *testing.T) {
	t.Parallel()
	needTracing(t)
	const record, no = "record, unclear \"\", <nil>\n", "no record, <nil>\n"
	for forbidden, want := range map[string]string{
		"nothing": record, "ptrace": record,
		"seccomp": no, "process_vm_readv": no, "sendmsg": no, "recvmsg": no, "socketpair": no, "ioctl": no,
	} {
		t.Run(forbidden, func(t *testing.T) {
			t.Parallel()
			dir := realDir(t)
			cmd := command(t, dir, os.Args[0], "/bin/sh", "-c", "cat; echo once >>runs; cat runs")
			cmd.Env, cmd.Stdin = append(os.Environ(), "TEST_TRACE_FORBIDDEN="+forbidden), strings.NewReader("input\n")
			out, err := cmd.CombinedOutput()
			if got := string(out); err != nil || got != "input\nonce\n"+want {
				t.Errorf("%v, %q", err, got)
			}
			cmd = command(t, dir, os.Args[0], "./absent")
			cmd.Env = append(os.Environ(), "TEST_TRACE_FORBIDDEN="+forbidden)
			out, err = cmd.CombinedOutput()
			if got := string(out); err != nil || got != "no record, fork/exec ./absent: no such file or directory\n" {
				t.Errorf("%v, %q", err, got)
			}
		})
	}
}

// Who may not trace all, or is traced, or traced so already, gets a record or none, and the command
// runs once.
func TestTracingWithin(t *testing.T) {
	t.Parallel()
	needTracing(t)
	bin := filepath.Join(realDir(t), "trace.test")
	if err := exec.Command("cp", os.Args[0], bin).Run(); err != nil {
		t.Fatal(err)
	}
	for p := filepath.Dir(bin); p != "/" && p != os.TempDir(); p = filepath.Dir(p) {
		if err := os.Chmod(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const record, no = "record, unclear \"\", <nil>\n", "no record, <nil>\n"
	for name, tt := range map[string]struct {
		before    []string
		forbidden string
		root      bool
		want      string
	}{
		"another user":               {before: []string{"setpriv", "--reuid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"}, root: true, want: "NoNewPrivs:\t1\n" + record},
		"another user, refused":      {before: []string{"setpriv", "--reuid=65534", "--clear-groups", "--inh-caps=-all"}, forbidden: "ioctl", root: true, want: "NoNewPrivs:\t1\n" + no},
		"no new privileges":          {before: []string{"setpriv", "--no-new-privs"}, want: "NoNewPrivs:\t1\n" + record},
		"a tracer":                   {before: []string{"strace", "-f", "-o", "/dev/null"}, want: record},
		"a tracer with a filter":     {before: []string{"strace", "-f", "--seccomp-bpf", "-e", "trace=%file", "-o", "/dev/null"}, want: record},
		"traced so already":          {before: []string{bin}, want: no + record},
		"without a descriptor spare": {before: []string{"sh", "-c", `ulimit -n 64; exec "$@"`, "sh"}, want: record},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			if tt.root && os.Getuid() != 0 {
				t.Skip("NOT RUN: needs root, to become another user")
			}
			needs.Tool(t, tt.before[0], "strace util-linux")
			args := append(tt.before, bin, "/bin/grep", "NoNewPrivs", "/proc/self/status")
			cmd := command(t, filepath.Dir(bin), args[0], args[1:]...)
			if tt.forbidden == "" {
				tt.forbidden = "nothing"
			}
			cmd.Env = append(os.Environ(), "TEST_TRACE_FORBIDDEN="+tt.forbidden)
			out, err := cmd.CombinedOutput()
			if got := string(out); err != nil || !strings.HasSuffix(got, tt.want) || strings.Count(got, "NoNewPrivs") != 1 {
				t.Errorf("%v, %q, want %q", err, got, tt.want)
			}
		})
	}
}
