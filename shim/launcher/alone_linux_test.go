package launcher

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/needs"
)

// alone returns a command under the `run` of the whole command, as `go install` makes it.
func alone(flags []string, args ...string) *exec.Cmd {
	return exec.Command(whole(), append(append(append([]string{"run"}, flags...), "--"), args...)...)
}

// TestWithoutTheLauncher: the whole command runs commands itself.
func TestWithoutTheLauncher(t *testing.T) {
	t.Parallel()
	plain := filepath.Join(t.TempDir(), "plain")
	if err := needs.WriteProgram(plain, []byte("exit 9\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{nil, {"--quiet"}, {"-q", "--report-file", "/dev/null"}} {
		for _, tt := range []struct {
			args []string
			want string
		}{
			{[]string{"true"}, "0"},
			{[]string{"sh", "-c", "exit 3"}, "3"},
			{[]string{plain}, "9"},
			{[]string{"no-such-program-anywhere"}, "127"},
			{[]string{"/etc"}, "126"},
			{[]string{"sh", "-c", "exit 143"}, "143"},
		} {
			if got := status(t, alone(flags, tt.args...)); got != tt.want {
				t.Errorf("%q, %q: %s, want %s", flags, tt.args, got, tt.want)
			}
		}
	}
	if got := status(t, alone(nil, "sh", "-c", "kill -TERM $$")); got != "143" {
		t.Errorf("a command that dies by a signal: %s", got)
	}
	out, err := alone([]string{"--report"}, "sh", "-c", asked).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "2 programs asked for, 1.00 s of compiling saved") {
		t.Errorf("%v\n%s", err, out)
	}
	env, err := alone([]string{"-q"}, "env").Output()
	lib := filepath.Join(tree, "lib", "kernstash")
	if err != nil || !strings.Contains(string(env), "\nOPENCL_LAYERS="+filepath.Join(lib, "libkernstash_opencl_layer.so")) &&
		!strings.HasPrefix(string(env), "OPENCL_LAYERS=") {
		t.Errorf("%v\n%s", err, env)
	}
}

// TestSignalsWithoutTheLauncher: what ends us ends the command, and what a terminal sends
// is the command's alone.
func TestSignalsWithoutTheLauncher(t *testing.T) {
	t.Parallel()
	cmd := alone(nil, self(t))
	cmd.Env = append(os.Environ(), "RUN_TEST_HELPER=signals", "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	b := started(t, cmd)
	b.until("ready")
	var got []string
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGTERM} {
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if sig == syscall.SIGHUP || sig == syscall.SIGTERM {
			got = append(got, b.line())
		}
	}
	if diff := cmp.Diff([]string{"hangup", "terminated"}, got); diff != "" {
		t.Error(diff)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
