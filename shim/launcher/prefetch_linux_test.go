package launcher

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/internal/needs"
)

// TestPrefetch: an unchanged OpenCL program whose entries are fetched while it starts compiles nothing in a place that
// shares a remote with the first, and has no child of ours.
func TestPrefetch(t *testing.T) {
	t.Parallel()
	dir, source := built(t)
	command := filepath.Join(dir, "bin", "kernstash")
	work := t.TempDir()
	program := filepath.Join(work, "saxpy")
	do(t, exec.Command("cc", "-o", program, filepath.Join(source, "examples", "c", "saxpy.c"), "-lOpenCL"))
	objects := filepath.Join(work, "objects")
	script := filepath.Join(work, "app.sh")
	starts := fmt.Sprintf("read -r children < /proc/$$/task/$$/children; echo \"children:$children.\"\n"+
		"until %s ls 2>/dev/null | grep -q '^1 entry' || [ $((n += 1)) -gt 3000 ]; do sleep 0.02; done; exec %s\n", command, program)
	for _, err := range []error{os.Mkdir(objects, 0o700), needs.WriteProgram(script, []byte("#!/bin/sh\n"+starts), 0o700)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	in := func(place string, args ...string) string {
		t.Helper()
		at := filepath.Join(work, place)
		if err := os.MkdirAll(at, 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + at, "TMPDIR=" + os.TempDir(), "KERNSTASH_WORKER=off", "KERNSTASH_AGENT=off",
			"KERNSTASH_REMOTE=file://" + objects,
		}
		return do(t, cmd)
	}
	in("first", command, "run", "-q", "--", program)
	in("first", command, "worker", "run", "--once", "--normal-priority", "--quiet")
	in("first", command, "remote", "push", "--app", "saxpy", "--as", "app.sh")

	for place, starter := range map[string]string{"second": command, "third": filepath.Join(dir, "bin", "kernstash-full")} {
		for n, flags := range [][]string{{"--report-file", "report.json"}, {"-q"}} {
			report := filepath.Join(work, fmt.Sprint(place, n, ".json"))
			if len(flags) > 1 {
				flags[1] = report
			}
			args := append(append([]string{starter, "run"}, flags...), "--prefetch", "--", script)
			if out := in(fmt.Sprint(place, n), args...); !strings.Contains(out, "children:.\n") || !strings.Contains(out, "y[10] = 21") {
				t.Errorf("%s: %s", place, out)
			}
			if len(flags) == 1 {
				continue
			}
			var got struct {
				Programs struct{ Asked, Disk, Compiled int }
			}
			readJSON(t, report, &got)
			if got.Programs.Asked != 1 || got.Programs.Disk != 1 || got.Programs.Compiled != 0 {
				t.Errorf("%s: %+v", place, got)
			}
		}
	}
}
