package launcher

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/timing"
)

// TestTimingOfRun: `kernstash run` takes at most a millisecond more than any parent in
// Go does that starts a command and waits for it. Both run in turn, and the fastest of
// each are compared: what else the machine does makes both slower, and the longer one
// more so, by more on a slow machine than what is measured.
func TestTimingOfRun(t *testing.T) {
	timing.Only(t)
	bare := filepath.Join(t.TempDir(), "bare")
	build := exec.Command("go", "build", "-o", bare, "testdata/bare.go")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	do(t, build)
	const most, rounds = time.Millisecond, 500
	alone, ours := time.Hour, time.Hour
	for range rounds {
		alone = min(alone, took(t, exec.Command(bare, "/bin/true")))
		run := exec.Command(kernstash(), "run", "--", "/bin/true")
		run.Env = environWithout("KERNSTASH_TEST_TIMING") // which may be a setting, and settings are looked at
		ours = min(ours, took(t, run))
	}
	t.Logf("a bare parent %v, run %v: %v more", alone, ours, ours-alone)
	if ours-alone > most {
		t.Errorf("%v more than a bare parent, at most %v", ours-alone, most)
	}
}

// TestTimingOfCompilers: what compilers are started through is at its work within 5 ms. It is measured to the end of a
// program that is no compiler, whose own time is taken off, in turns; of each the fastest counts, as with TestTimingOfRun.
func TestTimingOfCompilers(t *testing.T) {
	timing.Only(t)
	small := filepath.Join(t.TempDir(), "kernstash-compile")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", small, "../../cmd/kernstash/kernstash-compile")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	do(t, build)
	const most, rounds = 5 * time.Millisecond, 200
	alone, ours := time.Hour, time.Hour
	for range rounds {
		alone = min(alone, took(t, exec.Command("/bin/true")))
		ours = min(ours, took(t, exec.Command(small, "compile", "--", "/bin/true")))
	}
	t.Logf("a program %v, through the command of compilers %v: %v more", alone, ours, ours-alone)
	if ours-alone > most {
		t.Errorf("%v more than the program alone, at most %v", ours-alone, most)
	}
}

// TestLauncherIsSmall: what stands before every command can be read at one sitting.
func TestLauncherIsSmall(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("src/launcher.c")
	if err != nil {
		t.Fatal(err)
	}
	const most = 250
	if n := bytes.Count(b, []byte("\n")); n > most {
		t.Errorf("%d lines, at most %d", n, most)
	}
}

func took(t *testing.T, cmd *exec.Cmd) time.Duration {
	t.Helper()
	start := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return time.Since(start)
}
