package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/kernstash/kernstash/internal/cbuild"
)

// numbers are those of the system calls that docs/C.md names.
var numbers = map[string]int{
	"access":            unix.SYS_ACCESS,
	"arch_prctl":        unix.SYS_ARCH_PRCTL,
	"brk":               unix.SYS_BRK,
	"clock_gettime":     unix.SYS_CLOCK_GETTIME,
	"clock_nanosleep":   unix.SYS_CLOCK_NANOSLEEP,
	"clone":             unix.SYS_CLONE,
	"clone3":            unix.SYS_CLONE3,
	"close":             unix.SYS_CLOSE,
	"execve":            unix.SYS_EXECVE,
	"exit":              unix.SYS_EXIT,
	"exit_group":        unix.SYS_EXIT_GROUP,
	"fchmod":            unix.SYS_FCHMOD,
	"fcntl":             unix.SYS_FCNTL,
	"fstat":             unix.SYS_FSTAT,
	"fstatfs":           unix.SYS_FSTATFS,
	"futex":             unix.SYS_FUTEX,
	"getcwd":            unix.SYS_GETCWD,
	"getdents64":        unix.SYS_GETDENTS64,
	"getegid":           unix.SYS_GETEGID,
	"geteuid":           unix.SYS_GETEUID,
	"getgid":            unix.SYS_GETGID,
	"getpid":            unix.SYS_GETPID,
	"getrandom":         unix.SYS_GETRANDOM,
	"gettid":            unix.SYS_GETTID,
	"getuid":            unix.SYS_GETUID,
	"linkat":            unix.SYS_LINKAT,
	"madvise":           unix.SYS_MADVISE,
	"mkdirat":           unix.SYS_MKDIRAT,
	"mmap":              unix.SYS_MMAP,
	"mprotect":          unix.SYS_MPROTECT,
	"munmap":            unix.SYS_MUNMAP,
	"nanosleep":         unix.SYS_NANOSLEEP,
	"newfstatat":        unix.SYS_NEWFSTATAT,
	"openat":            unix.SYS_OPENAT,
	"openat2":           unix.SYS_OPENAT2,
	"pread64":           unix.SYS_PREAD64,
	"prlimit64":         unix.SYS_PRLIMIT64,
	"pwrite64":          unix.SYS_PWRITE64,
	"read":              unix.SYS_READ,
	"readlink":          unix.SYS_READLINK,
	"readlinkat":        unix.SYS_READLINKAT,
	"renameat":          unix.SYS_RENAMEAT,
	"renameat2":         unix.SYS_RENAMEAT2,
	"rseq":              unix.SYS_RSEQ,
	"rt_sigaction":      unix.SYS_RT_SIGACTION,
	"rt_sigprocmask":    unix.SYS_RT_SIGPROCMASK,
	"rt_sigreturn":      unix.SYS_RT_SIGRETURN,
	"sched_getaffinity": unix.SYS_SCHED_GETAFFINITY,
	"sched_setaffinity": unix.SYS_SCHED_SETAFFINITY,
	"sched_yield":       unix.SYS_SCHED_YIELD,
	"set_robust_list":   unix.SYS_SET_ROBUST_LIST,
	"set_tid_address":   unix.SYS_SET_TID_ADDRESS,
	"sigaltstack":       unix.SYS_SIGALTSTACK,
	"statfs":            unix.SYS_STATFS,
	"tgkill":            unix.SYS_TGKILL,
	"unlinkat":          unix.SYS_UNLINKAT,
	"utimensat":         unix.SYS_UTIMENSAT,
	"write":             unix.SYS_WRITE,
}

// documented returns the system calls that docs/C.md lists.
func documented(t *testing.T) (names []string) {
	t.Helper()
	b, err := os.ReadFile("../docs/C.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(b), "\n## System calls\n")
	_, text, _ = strings.Cut(text, "```\n")
	text, _, _ = strings.Cut(text, "```")
	for _, n := range strings.Fields(text) {
		if _, ok := numbers[n]; !ok {
			t.Fatalf("docs/C.md names %s, and this test does not know its number", n)
		}
		names = append(names, n)
	}
	if len(names) < 40 {
		t.Fatalf("docs/C.md lists %d system calls", len(names))
	}
	return names
}

// filtered is a command that runs under a filter: of the kind "only" it kills for all
// calls but some; of "refuse" and "kill" it does so for some.
func filtered(filter, kind string, names []string, command ...string) *exec.Cmd {
	var n []string
	for _, name := range names {
		n = append(n, fmt.Sprint(numbers[name]))
	}
	return exec.Command(filter, append([]string{kind, strings.Join(n, ",")}, command...)...)
}

// TestListedSystemCalls: a host whose filter kills for any call that docs/C.md does not
// list lives, whatever it asks of the library.
func TestListedSystemCalls(t *testing.T) {
	t.Parallel()
	lib := cbuild.Library(t)
	filter := lib.Compile(t, []string{"testdata/filter.c"})
	program := lib.Compile(t, parts)
	names := documented(t)
	for _, part := range []string{
		"variants", "populated", "twice", "bettered", "refused", "sources", "threads", "process", "failures", "nests", "many",
	} {
		h := newHost(t, program)
		cmd := filtered(filter, "only", names, h.program, part)
		cmd.Env, cmd.Dir = append(h.env, "TEST_BUILDS=200"), h.dir
		if part == "many" { // some are evicted
			cmd.Env = append(cmd.Env, "KERNSTASH_MAX_SIZE=1MiB")
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", part, err, out)
		}
	}
}

// TestRefusedSystemCalls: whichever call a filter refuses, the host lives, with the
// cache or without.
func TestRefusedSystemCalls(t *testing.T) {
	t.Parallel()
	lib := cbuild.Library(t)
	filter := lib.Compile(t, []string{"testdata/filter.c"})
	program := lib.Compile(t, []string{"testdata/limits.c"})
	must := []string{"execve", "futex", "mmap", "exit_group", "write"} // of glibc, and of the program
	said := regexp.MustCompile(`^(built|unavailable: .*)\n$`)
	names := documented(t)
	if os.Getenv("KERNSTASH_TEST_LONG") == "" { // those that Go asserts, and some
		names = []string{"sigaltstack", "rt_sigprocmask", "clone3", "openat2", "fcntl", "sched_getaffinity", "madvise", "gettid"}
	}
	for _, name := range names {
		if slices.Contains(must, name) {
			continue
		}
		cmd := filtered(filter, "refuse", []string{name}, program)
		cmd.Env = []string{"KERNSTASH_DIR=" + filepath.Join(t.TempDir(), "root")}
		out, err := cmd.CombinedOutput()
		var loader bool // the program could not even be loaded
		if err != nil {
			loader = cmd.ProcessState.ExitCode() == 127
		}
		if !loader && (err != nil || !said.Match(out)) {
			t.Errorf("without %s: %v, %q", name, err, out)
		}
	}
}
