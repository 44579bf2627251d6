package launcher

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/needs"
)

// TestTritonUnderRun: with --triton an installation that was moved serves Triton, a stand-in for it
// here, which knows nothing of us; the report names its kernels. Another manager is left alone.
func TestTritonUnderRun(t *testing.T) {
	t.Parallel()
	python := needs.Tool(t, "python3", "python3")
	build, source := built(t)
	stage := filepath.Join(t.TempDir(), "stage")
	install := exec.Command(filepath.Join(source, "packaging", "install"), "install", "/opt", stage)
	install.Env = append(os.Environ(), "BUILD="+build)
	do(t, install)
	prefix := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(filepath.Join(stage, "opt"), prefix); err != nil {
		t.Fatal(err)
	}
	const program = "from triton.compiler import compile; compile('a', name='matmul'); compile('b', name='softmax')"
	dir := t.TempDir()
	run := func(triton string, env ...string) (outcomes map[string]string, stderr string) {
		t.Helper()
		file := filepath.Join(dir, "report.json")
		cmd := exec.Command(filepath.Join(prefix, "bin", "kernstash"), "run", "--triton", "--report-file", file, "--", python, "-c", program)
		cmd.Env = append([]string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "KERNSTASH_DIR=" + filepath.Join(dir, "cache"), "TEST_LOG=" + filepath.Join(dir, "log"),
			"TRITON_CACHE_DIR=" + filepath.Join(dir, triton), "PYTHONPATH=" + filepath.Join(source, "python", "tests", "standin"),
		}, env...)
		var said strings.Builder
		cmd.Stderr = &said
		do(t, cmd)
		var report struct {
			Requests []struct{ Label, Outcome string }
		}
		readJSON(t, file, &report)
		outcomes = map[string]string{}
		for _, p := range report.Requests {
			outcomes[p.Label] = p.Outcome
		}
		return outcomes, said.String()
	}
	for _, tt := range []struct {
		triton string
		env    []string
		want   map[string]string
		said   string
	}{
		{"cold", nil, map[string]string{"matmul": "compiled", "softmax": "compiled"}, "compiled  2"},
		{"wiped", nil, map[string]string{"matmul": "disk", "softmax": "disk"}, "on disk  2"},
		{
			"theirs",
			[]string{"TRITON_CACHE_MANAGER=triton.runtime.cache:FileCacheManager"},
			map[string]string{},
			"TRITON_CACHE_MANAGER=triton.runtime.cache:FileCacheManager is left alone",
		},
	} {
		got, said := run(tt.triton, tt.env...)
		if diff := cmp.Diff(tt.want, got); diff != "" || !strings.Contains(said, tt.said) {
			t.Errorf("%s: outcomes (-want +got):\n%s\n%s", tt.triton, diff, said)
		}
	}
	installed := filepath.Join(prefix, "lib", "kernstash", "python", "kernstash")
	if !slices.Contains(names(t, installed), "py.typed") {
		t.Errorf("installed: %q", names(t, installed))
	}
}
