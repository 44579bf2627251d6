// Package launcher tests `kernstash run` as it is installed: the launcher, which is C, with
// the whole command behind it.
package launcher

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/kernstash/kernstash/internal/cbuild"
	"github.com/kernstash/kernstash/internal/needs"
	"github.com/kernstash/kernstash/internal/pty"
	"github.com/kernstash/kernstash/internal/timing"
)

// tree holds an installation: the command, and libraries that do nothing.
var tree string

func TestMain(m *testing.M) {
	switch os.Getenv("RUN_TEST_HELPER") {
	case "signals":
		countSignals()
		return
	case "shell":
		jobShell()
		return
	case "job":
		job()
		return
	}
	// Where these tests run under nohup the commands would ignore it as well.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	os.Exit(withTree(m))
}

func withTree(m *testing.M) int {
	dir, err := os.MkdirTemp("", "kernstash-run-test-")
	if err == nil {
		tree = filepath.Join(dir, "tree")
		defer os.RemoveAll(dir)
		err = errors.Join(install(tree), os.Mkdir(filepath.Join(dir, "tmp"), 0o700))
		os.Unsetenv("XDG_RUNTIME_DIR")
		os.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	status := cbuild.Main(m)
	if left, _ := filepath.Glob(filepath.Join(dir, "tmp", "kernstash-*")); len(left) > 0 && status == 0 {
		fmt.Fprintf(os.Stderr, "reports left: %q\n", left)
		return 1
	}
	return status
}

func install(dir string) error {
	lib := filepath.Join(dir, "lib", "kernstash")
	if err := os.MkdirAll(lib, 0o700); err != nil {
		return err
	}
	if err := errors.Join(command(filepath.Join(lib, "kernstash-full"), ""), command(filepath.Join(lib, "kernstash-compile"), "kernstash-compile")); err != nil {
		return err
	}
	if out, err := exec.Command("make", "-s", "OUT="+filepath.Join(dir, "bin")).CombinedOutput(); err != nil {
		return fmt.Errorf("build the launcher: %w\n%s", err, out)
	}
	for _, name := range []string{"libkernstash_opencl_layer.so", "libkernstash_preload.so", "libkernstash.so.1"} {
		if err := emptyLibrary(filepath.Join(lib, name), ""); err != nil {
			return err
		}
	}
	return nil
}

// command builds the whole command, or a part of it: as users have it, in the long form.
func command(out, part string) error {
	switch {
	case !timing.IsLong() && part == "":
		return cbuild.Command(out)
	case !timing.IsLong():
		return cbuild.CompileCommand(out)
	}
	cmd := exec.Command("go", "build", "-o", out, "../../cmd/kernstash/"+part)
	cmd.Env = append(os.Environ(), cgo()...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the command: %w\n%s", err, out)
	}
	return nil
}

// cgo returns what a build is to have in its environment: users have none of cgo, in the long
// form; without it much is to be compiled that the tests have compiled with it.
func cgo() []string {
	if timing.IsLong() {
		return []string{"CGO_ENABLED=0"}
	}
	return nil
}

// emptyLibrary makes a library with a text in it.
func emptyLibrary(path, text string) error {
	cc := exec.Command("cc", "-shared", "-fPIC", "-o", path, "-x", "c", "-")
	cc.Stdin = strings.NewReader(fmt.Sprintf("const char stash_test_text[] = %q;", text))
	if out, err := cc.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

func small() string { return filepath.Join(tree, "lib", "kernstash", "kernstash-compile") }

func whole() string { return filepath.Join(tree, "lib", "kernstash", "kernstash-full") }

func kernstash() string { return filepath.Join(tree, "bin", "kernstash") }

// under returns a command, bare or under `kernstash run` with flags.
func under(flags []string, args ...string) *exec.Cmd {
	if flags == nil {
		return exec.Command(args[0], args[1:]...)
	}
	return exec.Command(kernstash(), append(append(append([]string{"run"}, flags...), "--"), args...)...)
}

// ways are bare, supervised, and in our place.
var ways = map[string][]string{"bare": nil, "supervised": {}, "quiet": {"--quiet"}, "quiet, file": {"-q", "--report-file", "/dev/null"}}

// status returns how a command ended: its exit status, or the signal.
func status(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	ws := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return ws.Signal().String()
	}
	return strconv.Itoa(ws.ExitStatus())
}

func TestStatus(t *testing.T) {
	t.Parallel()
	plain := filepath.Join(t.TempDir(), "plain")
	if err := needs.WriteProgram(plain, []byte("exit 9\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for way, flags := range ways {
		if flags == nil {
			continue
		}
		for _, tt := range []struct {
			args []string
			want string
		}{
			{[]string{"true"}, "0"},
			{[]string{"sh", "-c", "exit 3"}, "3"},
			{[]string{"sh", "-c", "exit 255"}, "255"},
			{[]string{plain}, "9"}, // as a shell or execvp(3) would run it
			{[]string{"/nowhere/program"}, "127"},
			{[]string{"no-such-program-anywhere"}, "127"},
			{[]string{"/etc/passwd"}, "126"},
			{[]string{"/etc"}, "126"},
			{[]string{"sh", "-c", "kill -TERM $$"}, "terminated"},
			{[]string{"sh", "-c", "kill -INT $$"}, "interrupt"},
			{[]string{"sh", "-c", "kill -KILL $$"}, "killed"},
			{[]string{"sh", "-c", "kill -SEGV $$"}, "segmentation fault"},
			{[]string{"sh", "-c", "kill -PIPE $$"}, "broken pipe"},
			{[]string{"sh", "-c", "kill -40 $$"}, "signal 40"},
		} {
			if got := status(t, under(flags, tt.args...)); got != tt.want {
				t.Errorf("%s, %q: %s, want %s", way, tt.args, got, tt.want)
			}
		}
	}
}

// TestFound: the file that is run is the one that execvp(3) runs.
func TestFound(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/tmp", "kernstash-found-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	first, second, pipe := filepath.Join(dir, "first"), filepath.Join(dir, "second"), filepath.Join(dir, "pipe")
	for file, mode := range map[string]os.FileMode{first: 0o700, second: 0o755} {
		if err := errors.Join(os.Mkdir(file, 0o755), os.Chmod(file, 0o755),
			needs.WriteProgram(file+"/prog", []byte("#!/bin/sh\necho "+filepath.Base(file)+"\n"), mode)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(syscall.Mkfifo(pipe, 0o755), os.Chmod(pipe, 0o755)); err != nil {
		t.Fatal(err)
	}
	for way, flags := range ways {
		if flags == nil {
			continue
		}
		here := under(flags, "prog")
		here.Dir, here.Env = second, []string{"PATH="}
		if out, err := here.Output(); err != nil || string(out) != "second\n" {
			t.Errorf("%s, empty PATH: %q, %v", way, out, err)
		}
		wait := under(flags, pipe)
		timer := time.AfterFunc(3*time.Minute, func() { _ = wait.Process.Kill() })
		if got := status(t, wait); got != "126" {
			t.Errorf("%s, a pipe: %s", way, got)
		}
		timer.Stop()
	}
	if os.Geteuid() != 0 {
		t.Skip("NOT RUN: only root can be somebody else")
	}
	// What only somebody else may execute is passed over. The installation lies where
	// nobody else may look.
	program := filepath.Join(dir, "kernstash")
	copyFile(t, kernstash(), program)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "run", "-q", "prog")
	cmd.Env = []string{"PATH=" + first + ":" + second + ":/bin"}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.Output(); err != nil || string(out) != "second\n" {
		t.Errorf("as somebody else: %q, %v", out, err)
	}
}

// countSignals is a program that says which signals came, until SIGALRM or its
// input ends.
func countSignals() {
	c := make(chan os.Signal, 100)
	signal.Notify(c, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGWINCH, syscall.Signal(40))
	fmt.Println("ready", os.Getpid())
	for {
		select {
		case s := <-c:
			fmt.Println(s)
			if s == syscall.SIGTERM {
				time.Sleep(200 * time.Millisecond) // for one that comes twice
				for len(c) > 0 {
					fmt.Println(<-c)
				}
				return
			}
		case <-time.After(3 * time.Minute):
			fmt.Println("nothing came")
			os.Exit(1)
		}
	}
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSignalsToUs: what is sent to our process comes to the command, once.
func TestSignalsToUs(t *testing.T) {
	t.Parallel()
	cmd := under([]string{}, self(t))
	cmd.Env = append(os.Environ(), "RUN_TEST_HELPER=signals", "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	b := started(t, cmd)
	b.until("ready")
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGUSR1, 40, syscall.SIGTERM} {
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if got := b.line(); got != sig.String() {
			t.Errorf("sent %v, the command got %q", sig, got)
		}
	}
	rest, _ := io.ReadAll(b.r)
	if len(rest) > 0 {
		t.Errorf("more came: %s", rest)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// lineReader reads lines without reading ahead.
type lineReader struct {
	t *testing.T
	r io.Reader
}

// started starts a command, and returns what it writes.
func started(t *testing.T, cmd *exec.Cmd) *lineReader {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return &lineReader{t: t, r: out}
}

func (l *lineReader) line() string {
	l.t.Helper()
	var line []byte
	for b := make([]byte, 1); ; {
		n, err := l.r.Read(b)
		if err != nil {
			l.t.Fatalf("after %q: %v", line, err)
		}
		if n == 0 {
			continue
		}
		if b[0] == '\n' {
			return strings.TrimSuffix(string(line), "\r")
		}
		line = append(line, b[0])
	}
}

func (l *lineReader) until(part string) string {
	l.t.Helper()
	for {
		if s := l.line(); strings.Contains(s, part) {
			return s
		}
	}
}

// TestCommandsOwnSignals: what the command sends to its group is not sent back.
func TestCommandsOwnSignals(t *testing.T) {
	t.Parallel()
	cmd := under([]string{}, "sh", "-c", `n=0; trap 'n=$((n+1))' USR1; kill -USR1 0; sleep 0.3; echo $n`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if out, err := cmd.Output(); err != nil || string(out) != "1\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// TestKilled: who kills us kills the command. Nothing is left of the run (withTree looks).
func TestKilled(t *testing.T) {
	t.Parallel()
	cmd := under([]string{}, self(t))
	cmd.Env = append(os.Environ(), "RUN_TEST_HELPER=signals")
	b := started(t, cmd)
	pid, _ := strconv.Atoi(strings.TrimPrefix(b.until("ready"), "ready "))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if rest, _ := io.ReadAll(b.r); len(rest) > 0 {
		t.Errorf("it went on: %s", rest)
	}
	_ = cmd.Wait()
	for deadline := time.Now().Add(3 * time.Minute); syscall.Kill(pid, 0) == nil && state(pid) != "Z"; {
		if time.Now().After(deadline) {
			t.Fatalf("process %d lives", pid)
		}
		time.Sleep(time.Millisecond)
	}
}

func state(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) == 0 {
		return ""
	}
	return string(fields[0])
}

// terminalPair returns both ends of a pseudo-terminal: a person's, and a program's.
func terminalPair(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, program, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { person.Close() })
	return person, program
}

// TestTerminalInterrupt: what a terminal sends comes once, not twice.
func TestTerminalInterrupt(t *testing.T) {
	t.Parallel()
	for way, flags := range ways {
		ours, theirs := terminalPair(t)
		cmd := under(flags, self(t))
		cmd.Env = append(os.Environ(), "RUN_TEST_HELPER=signals", "GORACE=atexit_sleep_ms=0")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		theirs.Close()
		defer time.AfterFunc(3*time.Minute, func() { _ = cmd.Process.Kill() }).Stop()
		b := &lineReader{t: t, r: ours}
		b.until("ready")
		for _, tt := range []struct {
			key  string
			want string
		}{{"\x03", "interrupt"}, {"\x1c", "quit"}} {
			if _, err := ours.WriteString(tt.key); err != nil {
				t.Fatal(err)
			}
			if got := b.until(tt.want); !strings.HasSuffix(got, tt.want) {
				t.Errorf("%s: got %q", way, got)
			}
		}
		if err := unix.IoctlSetWinsize(int(ours.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 7, Col: 9}); err != nil {
			t.Fatal(err)
		}
		if got := b.line(); got != "window changed" {
			t.Errorf("%s: got %q", way, got)
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if got := b.line(); got != "terminated" {
			t.Errorf("%s: got %q: another signal came twice", way, got)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", way, err)
		}
	}
}

// jobShell starts its arguments as a shell does a job, has the terminal stop it,
// continues it, and says what it saw.
func jobShell() {
	signal.Ignore(syscall.SIGTTOU)
	pid, err := syscall.ForkExec(os.Args[1], os.Args[1:], &syscall.ProcAttr{
		Env: append(environWithout("RUN_TEST_HELPER"), "RUN_TEST_HELPER=job"), Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Foreground: true, Ctty: 0},
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for {
		var ws syscall.WaitStatus
		if _, err := syscall.Wait4(pid, &ws, syscall.WUNTRACED, nil); err != nil {
			continue
		}
		if !ws.Stopped() {
			fmt.Println("job ended", ws.ExitStatus())
			return
		}
		fmt.Println("job stopped:", ws.StopSignal())
		time.Sleep(50 * time.Millisecond)
		fmt.Println("continuing")
		_ = syscall.Kill(-pid, syscall.SIGCONT)
	}
}

// job is a program that reads a line, and deals with Ctrl-Z in a way of its own.
func job() {
	kind := os.Getenv("RUN_TEST_JOB")
	if kind != "default" {
		c := make(chan os.Signal, 10)
		signal.Notify(c, syscall.SIGTSTP)
		go func() {
			for range c {
				fmt.Println("trapped")
				if kind == "stops" {
					_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
				}
			}
		}()
	}
	fmt.Println("started")
	var text string
	_, _ = fmt.Scanln(&text)
	fmt.Println("read", text)
	os.Exit(4)
}

func environWithout(name string) []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
}

// TestJobControl: Ctrl-Z stops the job as the shell sees it, and it goes on when
// it is continued. A command that does not stop stops nobody.
func TestJobControl(t *testing.T) {
	t.Parallel()
	for way, flags := range ways {
		for kind, want := range map[string][]string{
			"default": {"started", "job stopped: stopped", "continuing", "read hello", "job ended 4"},
			"stops":   {"started", "trapped", "job stopped: stopped (signal)", "continuing", "read hello", "job ended 4"},
			"stays":   {"started", "trapped", "read hello", "job ended 4"},
		} {
			ours, theirs := terminalPair(t)
			job := under(flags, self(t))
			cmd := exec.Command(self(t), append([]string{job.Path}, job.Args[1:]...)...)
			cmd.Env = append(os.Environ(), "RUN_TEST_HELPER=shell", "RUN_TEST_JOB="+kind, "GORACE=atexit_sleep_ms=0")
			cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			theirs.Close()
			defer time.AfterFunc(3*time.Minute, func() { _ = cmd.Process.Kill() }).Stop()
			b := &lineReader{t: t, r: ours}
			var got []string
			for len(got) == 0 || !strings.HasPrefix(got[len(got)-1], "job ended") {
				line := strings.TrimPrefix(b.line(), "^Z")
				if line == "" || line == "hello" || strings.Contains(line, "kernstash:") || strings.HasPrefix(line, "    ") {
					continue // the terminal's echo, our report, which is wrapped
				}
				got = append(got, line)
				answer := map[string]string{"started": "\x1a", "continuing": "hello\n"}[line]
				if line == "trapped" && kind == "stays" {
					answer = "hello\n"
				}
				if _, err := ours.WriteString(answer); err != nil {
					t.Fatal(err)
				}
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %s:\n%s", way, kind, diff)
			}
		}
	}
}

var pipes = regexp.MustCompile(`pipe:\[\d+\]`)

// TestInherited: descriptors, ignored signals, limits and everything else that
// a process gets from its parent is as it is without us.
func TestInherited(t *testing.T) {
	t.Parallel()
	const look = `for f in 0 1 2 3 4 5 6 7 8 9 10 11 12; do
	if [ -L /proc/$$/fd/$f ]; then echo $f; readlink /proc/$$/fd/$f; fi
done
ulimit -a; umask; pwd; grep -E 'Sig(Blk|Ign)|Threads|NoNewPrivs' /proc/self/status
nice; cat /proc/self/oom_score_adj; echo "$0 $@"; env | grep -v KERNSTASH_ | grep -v OPENCL_LAYERS | grep -v LD_PRELOAD | grep -v ^_= | sort`
	for name, before := range map[string]string{
		"plain":             `exec "$@"`,
		"closed input":      `exec 0<&-; exec "$@"`,
		"closed everything": `exec 3>&1 0<&- 2>&-; exec "$@"`,
		"descriptors":       `exec 5</dev/null 9>&1; exec "$@"`,
		"nohup":             `trap '' HUP; exec "$@"`,
		"of systemd":        `trap '' PIPE; exec "$@"`,
		"background job":    `trap '' INT QUIT; exec "$@"`,
		"ignored children":  `trap '' CHLD; exec "$@"`,
		"blocked":           `exec perl -MPOSIX -e 'sigprocmask(SIG_BLOCK, POSIX::SigSet->new(SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGCHLD, 40)); exec @ARGV' "$@"`,
		"address space":     `ulimit -v 200000; exec "$@"`,
		"data":              `ulimit -d 1000; exec "$@"`,
		"many ignored":      `trap '' TERM USR1 ALRM CONT WINCH TSTP TTIN; exec "$@"`,
		"few descriptors":   `ulimit -n 10; exec "$@"`,
		"limits":            `ulimit -n 77; ulimit -c 0; umask 027; cd /usr; exec "$@"`,
		"empty environment": `exec env -i PATH=/bin:/usr/bin "$@"`,
	} {
		want := ""
		for _, way := range []string{"bare", "supervised", "quiet", "quiet, file"} {
			if way == "quiet, file" && (name == "address space" || name == "data") {
				continue // other flags are the whole command's, for which there is no room
			}
			cmd := under(ways[way], "sh", "-c", look, "zero", "one", "", "three words here")
			sh := exec.Command("sh", append([]string{"-c", before, "sh", cmd.Path}, cmd.Args[1:]...)...)
			out, err := sh.Output()
			if err != nil {
				t.Errorf("%s, %s: %v", name, way, err)
			}
			if way == "bare" {
				want = pipes.ReplaceAllString(string(out), "pipe")
			} else if diff := cmp.Diff(want, pipes.ReplaceAllString(string(out), "pipe")); diff != "" {
				t.Errorf("%s, %s:\n%s", name, way, diff)
			}
		}
	}
}

// TestOneProcess: a user who may have no second process runs the command all the same.
func TestOneProcess(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("NOT RUN: only root can be a user who has no process")
	}
	dir, err := os.MkdirTemp("/tmp", "kernstash-one-") // where that user may look
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "kernstash")
	copyFile(t, kernstash(), program)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `ulimit -u 1; exec "$0" run -- /bin/echo it runs`, program)
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 64321, Gid: 64321}}
	if out, err := cmd.Output(); err != nil || string(out) != "it runs\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// TestDuplicateVariables: a variable that stands in the environment twice stands there twice.
func TestDuplicateVariables(t *testing.T) {
	t.Parallel()
	for way, flags := range ways {
		inner := under(flags, "cat", "/proc/self/environ")
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cat, err := exec.LookPath(inner.Args[0])
		if err != nil {
			t.Fatal(err)
		}
		p, err := os.StartProcess(cat, inner.Args, &os.ProcAttr{
			Env: []string{"A=1", "PATH=" + os.Getenv("PATH"), "A=2", "odd", "A=1"}, Files: []*os.File{nil, w, nil},
		})
		w.Close()
		if err != nil {
			t.Fatal(err)
		}
		out, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Wait(); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			if strings.HasPrefix(v, "A") || v == "odd" {
				got = append(got, v)
			}
		}
		if diff := cmp.Diff([]string{"A=1", "A=2", "odd", "A=1"}, got); diff != "" {
			t.Errorf("%s:\n%s", way, diff)
		}
	}
}

// TestAlarm: a timer lives on over exec, so it is the command's.
func TestAlarm(t *testing.T) {
	t.Parallel()
	needs.Tool(t, "perl", "perl")
	for way, flags := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			inner := under(flags, "sleep", "60")
			// Time enough to come to sleep on a busy machine: what runs before hears no alarm.
			cmd := exec.Command("perl", append([]string{"-e", "alarm 5; exec @ARGV", inner.Path}, inner.Args[1:]...)...)
			if got := status(t, cmd); got != "alarm clock" {
				t.Error(got)
			}
		})
	}
}

// asked is what a front end would have reported.
const asked = `echo '{"event":"loaded","pid":1,"front_end":"opencl-layer"}' >>$KERNSTASH_REPORT
echo '{"event":"asked","pid":1,"key":"ab12","label":"vecadd","outcome":"disk","spent_ms":2,"saved_ms":1000,"bytes":10}' >>$KERNSTASH_REPORT
echo '{"event":"asked","pid":1,"key":"cd34","label":"reduce","outcome":"compiled","nearest":"the build options","spent_ms":1500}' >>$KERNSTASH_REPORT`

// TestNested: a run in a run reports for itself, and to the outer one.
func TestNested(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	outer, inner := filepath.Join(dir, "outer"), filepath.Join(dir, "inner")
	script := fmt.Sprintf("%s run --report-file %s -- sh -c '%s'; %s run -q -- sh -c '%s'",
		kernstash(), inner, strings.ReplaceAll(asked, "'", `'"'"'`), kernstash(), strings.ReplaceAll(asked, "'", `'"'"'`))
	var stderr strings.Builder
	cmd := under([]string{"--report-file", outer}, "sh", "-c", script)
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	for file, n := range map[string]int{inner: 1, outer: 2} {
		var got struct {
			Programs map[string]int
			SavedMS  float64 `json:"saved_ms"`
		}
		readJSON(t, file, &got)
		want := map[string]int{"asked": 2 * n, "disk": n, "compiled": n, "memory": 0, "passed": 0, "failed": 0}
		if diff := cmp.Diff(want, got.Programs); diff != "" || got.SavedMS != float64(1000*n) {
			t.Errorf("%s: %v saved\n%s", file, got.SavedMS, diff)
		}
	}
	const want = `kernstash: 2 programs asked for, 1.00 s of compiling saved
  on disk   1  2.00 ms
  compiled  1  1.50 s  the build options
kernstash: 4 programs asked for, 2.00 s of compiling saved
  on disk   2  4.00 ms
  compiled  2  3.00 s  the build options: 2
`
	if diff := cmp.Diff(want, stderr.String()); diff != "" {
		t.Error(diff)
	}
}

func readJSON(t *testing.T, file string, v any) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestFullReport(t *testing.T) {
	t.Parallel()
	cmd := under([]string{"--report"}, "sh", "-c", asked)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	const want = `kernstash: 2 programs asked for, 1.00 s of compiling saved
  on disk   1  2.00 ms
  compiled  1  1.50 s  the build options
  came into processes by: opencl-layer
KEY           TIMES  OUTCOME   SPENT    SAVED    PROGRAM
ab12              1  disk      2.00 ms  1.00 s   vecadd
cd34              1  compiled  1.50 s   –        reduce
                                                 the build options
`
	if diff := cmp.Diff(want, string(out)); diff != "" {
		t.Error(diff)
	}
}

// TestNoReportIsLeft: the file goes, and nothing is said where nobody listens.
func TestNoReportIsLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := under([]string{}, "sh", "-c", asked)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR=", "TMPDIR="+dir)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	cmd.Stderr = w // a pipe that nobody reads ends nobody
	if err := cmd.Run(); err != nil {
		t.Error(err)
	}
	w.Close()
	if left, _ := filepath.Glob(dir + "/*"); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	nowhere := under([]string{}, "sh", "-c", "exit 3")
	nowhere.Env = append(os.Environ(), "XDG_RUNTIME_DIR=/nowhere", "TMPDIR=/nowhere")
	if got := status(t, nowhere); got != "3" {
		t.Errorf("with no place for a report: %s", got)
	}
	full := under([]string{}, "true")
	r, w, err = os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	fd := int(w.Fd()) // each call makes it block
	_ = unix.SetNonblock(fd, true)
	for err = nil; err == nil; {
		_, err = unix.Write(fd, make([]byte, 4096))
	}
	_ = unix.SetNonblock(fd, false)
	full.Stderr = w
	if err := full.Start(); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(3*time.Minute, func() { _ = full.Process.Kill() }).Stop()
	if err := full.Wait(); err != nil {
		t.Errorf("with a full pipe: %v", err)
	}
}

// TestWhyNothing: what is said where nothing was asked.
func TestWhyNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	if err := needs.WriteProgram(script, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	suid := filepath.Join(dir, "suid")
	copyFile(t, "/bin/true", suid)
	if err := os.Chmod(suid, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	event := func(s string) []string { return []string{"sh", "-c", "echo '" + s + "' >>$KERNSTASH_REPORT"} }
	for _, tt := range []struct {
		flags, args []string
		want        string
	}{
		{nil, []string{kernstash(), "version"}, "linked statically"},
		{nil, []string{script}, "script (a script, run by /bin/sh)"},
		{nil, []string{suid}, "rights that you have not"},
		{[]string{"--inject", "layer"}, []string{"true"}, "true"},
		{[]string{"--inject", "preload"}, []string{"true"}, "made no OpenCL program"},
		{[]string{"--no-cache"}, []string{"true"}, "switched off"},
		{nil, event(`{"event":"out","pid":1,"reason":"address space is limited"}`), "stayed out: address space is limited"},
		{nil, event(`{"event":"out","pid":1,"reason":"it has no directory"}` + "\n" + `{"event":"out","pid":1,"reason":"library of another release, or off"}`), "stayed out: it has no directory\n"},
		{nil, event(`{"event":"loaded","pid":1,"front_end":"opencl-layer"}`), "the cache was loaded in 1 process, which built no program"},
		{nil, event(`{"event":"asked","pid":1,"outcome":"passed","reason":"binary"}`), "the application's own cache answered: it made 1 program of binaries"},
	} {
		out, _ := under(append([]string{}, tt.flags...), tt.args...).CombinedOutput()
		if !strings.Contains(string(out), tt.want) {
			t.Errorf("%q %q: want %q in\n%s", tt.flags, tt.args, tt.want, out)
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = needs.WriteProgram(to, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestVariables: what the command's environment holds.
func TestVariables(t *testing.T) {
	t.Parallel()
	layer := filepath.Join(tree, "lib", "kernstash", "libkernstash_opencl_layer.so")
	preload := filepath.Join(tree, "lib", "kernstash", "libkernstash_preload.so")
	command := "KERNSTASH_COMMAND=" + small()
	for name, tt := range map[string]struct {
		flags, env []string
		want       []string
	}{
		"nothing said": {nil, nil, []string{command, "KERNSTASH_INJECT=auto", "LD_PRELOAD=" + layer + ":" + preload, "OPENCL_LAYERS=" + layer}},
		"layers there already": {
			nil,
			[]string{"OPENCL_LAYERS=/a.so:/b.so"},
			[]string{command, "KERNSTASH_INJECT=auto", "LD_PRELOAD=" + layer + ":" + preload, "OPENCL_LAYERS=" + layer + ":/a.so:/b.so"},
		},
		"ours is there already": {
			nil,
			[]string{"OPENCL_LAYERS=/a.so:" + layer},
			[]string{command, "KERNSTASH_INJECT=auto", "LD_PRELOAD=" + layer + ":" + preload, "OPENCL_LAYERS=/a.so:" + layer},
		},
		"by hand": {[]string{"--inject", "preload"}, nil, []string{command, "KERNSTASH_INJECT=preload", "LD_PRELOAD=" + layer + ":" + preload}},
		"settings": {
			[]string{"--inject=layer", "--read-only", "--dir", "/x/y", "--max-size", "1g", "--set", "eviction=lru"},
			nil,
			[]string{
				command, "KERNSTASH_DIR=/x/y", "KERNSTASH_EVICTION=lru", "KERNSTASH_INJECT=layer", "KERNSTASH_MAX_SIZE=1GiB", "KERNSTASH_MODE=read-only",
				"LD_PRELOAD=" + preload, "OPENCL_LAYERS=" + layer,
			},
		},
		"a flag is the last word": {
			[]string{"--inject=layer", "--refresh"},
			[]string{"KERNSTASH_MODE=observe"},
			[]string{command, "KERNSTASH_INJECT=layer", "KERNSTASH_MODE=refresh", "LD_PRELOAD=" + preload, "OPENCL_LAYERS=" + layer},
		},
		"OpenCL alone": {
			[]string{"--no-preload"},
			nil,
			[]string{"KERNSTASH_INJECT=auto", "LD_PRELOAD=" + layer, "OPENCL_LAYERS=" + layer},
		},
		"compilers left alone": {
			[]string{"--inject=layer", "--no-compilers"},
			nil,
			[]string{"KERNSTASH_COMPILERS=0", "KERNSTASH_INJECT=layer", "LD_PRELOAD=" + preload, "OPENCL_LAYERS=" + layer},
		},
		"compilers left alone by a setting": {
			[]string{"--inject=layer"},
			[]string{"KERNSTASH_COMPILERS=0"},
			[]string{"KERNSTASH_COMPILERS=0", "KERNSTASH_INJECT=layer", "LD_PRELOAD=" + preload, "OPENCL_LAYERS=" + layer},
		},
		"launchers": {
			[]string{"--inject=layer", "--no-preload", "--launchers"},
			[]string{"FLASHINFER_NVCC_LAUNCHER=ccache"},
			[]string{
				"CMAKE_CUDA_COMPILER_LAUNCHER=" + filepath.Join(tree, "bin", "kernstash") + ";compile;--",
				"FLASHINFER_NVCC_LAUNCHER=ccache", "KERNSTASH_INJECT=layer", "OPENCL_LAYERS=" + layer,
			},
		},
		"preloaded already": {
			[]string{"--inject=layer"},
			[]string{"LD_PRELOAD=" + preload + " /none/a.so"},
			[]string{command, "KERNSTASH_INJECT=layer", "LD_PRELOAD=" + preload + " /none/a.so", "OPENCL_LAYERS=" + layer},
		},
		"no cache": {[]string{"--no-cache"}, nil, []string{"KERNSTASH_DISABLE=1"}},
		"no cache, and what else switches it off is replaced": {
			[]string{"--no-cache", "--set", "mode=on"},
			[]string{"KERNSTASH_MODE=off"},
			[]string{"KERNSTASH_DISABLE=1", "KERNSTASH_MODE=on"},
		},
		"disabled": {nil, []string{"KERNSTASH_DISABLE=1"}, []string{"KERNSTASH_DISABLE=1"}},
	} {
		cmd := under(append([]string{"-q"}, tt.flags...), "env")
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, tt.env...)
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var got []string
		for line := range strings.Lines(string(out)) {
			if !strings.HasPrefix(line, "PATH=") && !strings.HasPrefix(line, "LD_LIBRARY_PATH=") {
				got = append(got, strings.TrimSpace(line))
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// TestMoved: an installation works wherever it is moved to, and says where it
// looked if it is not whole. The command runs all the same.
func TestMoved(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "with space", "moved")
	if err := needs.CopyPrograms(dir, os.DirFS(tree)); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "kernstash")
	if err := os.Symlink(filepath.Join(dir, "bin", "kernstash"), link); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(link, "run", "-q", "--inject", "layer", "--", "sh", "-c", "echo $OPENCL_LAYERS")
	var warned strings.Builder
	cmd.Stderr = &warned
	out, err := cmd.Output()
	if !strings.Contains(warned.String(), "LD_PRELOAD takes no path with a space") {
		t.Errorf("of a path with a space it says %q", warned.String())
	}
	if want := filepath.Join(dir, "lib", "kernstash", "libkernstash_opencl_layer.so") + "\n"; err != nil || string(out) != want {
		t.Errorf("%q, %v", out, err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "lib")); err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(link, "run", "--", "sh", "-c", "echo it runs")
	out, err = cmd.CombinedOutput()
	for _, want := range []string{"it runs\n", filepath.Join(dir, "lib", "kernstash"), "KERNSTASH_LIBDIR", "without the cache"} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: want %q in\n%s", err, want, out)
		}
	}
	cmd = exec.Command(link, "run", "-q", "--inject", "layer", "--", "sh", "-c", "echo $OPENCL_LAYERS")
	cmd.Env = append(os.Environ(), "KERNSTASH_LIBDIR="+filepath.Join(tree, "lib", "kernstash"))
	if out, err = cmd.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), tree) {
		t.Errorf("%q, %v", out, err)
	}
}

// TestProcessOne: in a container we are process 1, whom no signal kills and to
// whom all orphans come.
func TestProcessOne(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("NOT RUN: only root can make a process 1")
	}
	for script, want := range map[string]string{"kill -TERM $$": "143", "(sleep 0.1 &) ; exit 3": "3"} {
		inner := under([]string{}, "sh", "-c", script)
		cmd := exec.Command(inner.Path, inner.Args[1:]...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
		if got := status(t, cmd); got != want {
			t.Errorf("%s: %s, want %s", script, got, want)
		}
	}
}

// TestReportWithoutStandardError: a report that nobody can be told does not get into what
// the command writes.
func TestReportWithoutStandardError(t *testing.T) {
	t.Parallel()
	inner := under([]string{"--report"}, "sh", "-c", asked)
	out, err := exec.Command("sh", append([]string{"-c", `exec 0<&- 2>&-; exec "$@"`, "sh", inner.Path}, inner.Args[1:]...)...).Output()
	if err != nil || len(out) > 0 {
		t.Errorf("%q, %v", out, err)
	}
}

// TestSignalsWhileStopped: what comes while a command is stopped is passed on, and ends
// nobody before.
func TestSignalsWhileStopped(t *testing.T) {
	t.Parallel()
	cmd := under([]string{}, "sh", "-c", `trap 'echo trapped; exit 7' TERM; echo ready $$; kill -TSTP $$; while :; do sleep 0.01; done`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	b := started(t, cmd)
	b.until("ready")
	for deadline := time.Now().Add(3 * time.Minute); state(cmd.Process.Pid) != "T" && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), syscall.Kill(-cmd.Process.Pid, syscall.SIGCONT)); err != nil {
		t.Fatal(err)
	}
	b.until("trapped")
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != 7 {
		t.Errorf("it ended with %d", got)
	}
}

// TestSanitized: nothing is preloaded into a program that ends where a library stands
// before its sanitizer's, however many names it exports.
func TestSanitized(t *testing.T) {
	t.Parallel()
	var source strings.Builder
	source.WriteString("int main(void) { return 4; }\n")
	for i := range 8000 {
		fmt.Fprintf(&source, "__asm__(\".globl exported_%05d\\n.type exported_%05[1]d, %%function\\nexported_%05[1]d:\\n\");\n", i)
	}
	program := filepath.Join(t.TempDir(), "sanitized")
	cc := exec.Command("cc", "-fsanitize=address", "-rdynamic", "-o", program, "-x", "c", "-")
	cc.Stdin = strings.NewReader(source.String())
	if out, err := cc.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir := filepath.Dir(program)
	script, hidden := filepath.Join(dir, "script"), filepath.Join(dir, "hidden")
	err := errors.Join(needs.WriteProgram(script, []byte("#! "+program+"\n"), 0o700), os.MkdirAll(filepath.Join(hidden, "sanitized"), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{{}, {"-q"}, {"--report"}} {
		for _, c := range []struct{ command, path string }{
			{program, ""},
			{script, ""},
			{"sanitized", ":" + os.Getenv("PATH")}, // the working directory
			{"sanitized", hidden + ":" + dir + ":/usr/bin:/bin"}, // a directory is no program
		} {
			cmd := under(flags, c.command)
			cmd.Dir = dir
			if c.path != "" {
				cmd.Env = append(cmd.Environ(), "PATH="+c.path)
			}
			var said strings.Builder
			cmd.Stderr = &said
			if got := status(t, cmd); got != "4" {
				t.Errorf("%q %s: %s\n%s", flags, c.command, got, &said)
			}
		}
	}
}

// TestContinuedByOthers: somebody stops the command, and lets it go on, who knows nothing of
// who waits for it.
func TestContinuedByOthers(t *testing.T) {
	t.Parallel()
	cmd := under([]string{}, "sh", "-c", `echo ready $$; while [ ! -e "$0" ]; do sleep 0.01; done; exit 5`, filepath.Join(t.TempDir(), "go"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal
	b := started(t, cmd)
	var child int
	if _, err := fmt.Sscanf(b.until("ready"), "ready %d", &child); err != nil {
		t.Fatal(err)
	}
	_ = syscall.Kill(child, syscall.SIGSTOP)
	for deadline := time.Now().Add(3 * time.Minute); state(child) != "T" && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(50 * time.Millisecond) // in which the launcher learns of it
	_ = syscall.Kill(child, syscall.SIGCONT)
	if err := os.WriteFile(cmd.Args[len(cmd.Args)-1], nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(3*time.Minute, func() { _ = cmd.Process.Kill() })
	defer stuck.Stop()
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != 5 {
		t.Errorf("it ended with %d", got)
	}
}

// TestPIDNamespace: where what is started is in a PID namespace that the launcher is not in, it
// runs all the same.
func TestPIDNamespace(t *testing.T) {
	t.Parallel()
	cmd := under([]string{}, "sh", "-c", "exit 6")
	namespaces := []string{"unshare", "--pid"}
	if os.Geteuid() != 0 {
		namespaces = append(namespaces, "--user", "--map-root-user")
	}
	cmd.Args = append(append(namespaces, cmd.Path), cmd.Args[1:]...)
	path, err := exec.LookPath("unshare")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Path = path
	if got := status(t, cmd); got != "6" {
		t.Errorf("it ended with %s", got)
	}
}

// TestMusl: nothing is preloaded where musl's dynamic linker starts the program, which
// would not, and OpenCL's layer is there all the same.
func TestMusl(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	linker := filepath.Join(dir, "ld-musl-x86_64.so.1") // glibc's, by that name
	here, err := exec.Command("sh", "-c", "readelf -lW /bin/sh | sed -n 's/.*interpreter: \\(.*\\)]/\\1/p'").Output()
	if err != nil || os.Symlink(strings.TrimSpace(string(here)), linker) != nil {
		t.Fatalf("%q, %v", here, err)
	}
	program := filepath.Join(dir, "program")
	cc := exec.Command("cc", "-Wl,--dynamic-linker="+linker, "-o", program, "-x", "c", "-")
	cc.Stdin = strings.NewReader(`#include <stdio.h>
#include <stdlib.h>
int main(void) { return printf("%s %s\n", getenv("LD_PRELOAD") ? "preloaded" : "not preloaded", getenv("KERNSTASH_INJECT")) < 0; }
`)
	if out, err := cc.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	link := filepath.Join(dir, "link") // as busybox has them
	if err := os.Symlink(program, link); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range []*exec.Cmd{
		under([]string{"-q"}, program), under([]string{"-q", "--report-file", "/dev/null"}, program), alone([]string{"-q"}, program),
		under([]string{"-q"}, link), alone([]string{"-q"}, link),
	} {
		if out, err := cmd.Output(); err != nil || string(out) != "not preloaded layer\n" {
			t.Errorf("%q: %q, %v", cmd.Args, out, err)
		}
	}
}
