package docs

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDeployCI runs the script that docs/DEPLOY.md gives jobs of CI in two jobs, each in a checkout and with a home of its own: the
// first one compiles, and the directory that a tar archive carries to the second one has all for it.
func TestDeployCI(t *testing.T) {
	t.Parallel()
	root := newReader(t).root
	document, err := os.ReadFile("DEPLOY.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := parse(string(document))
	if err != nil {
		t.Fatal(err)
	}
	script := ""
	for _, b := range blocks {
		if b.kind == "sh" && strings.Contains(b.text, "$APPLICATION") {
			script = b.text
		}
	}
	if script == "" {
		t.Fatal("there is no script")
	}
	do := func(cmd *exec.Cmd) {
		t.Helper()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
		}
	}
	work := t.TempDir()
	program, archive := filepath.Join(work, "saxpy"), filepath.Join(work, "cache.tar")
	do(exec.Command("cc", "-o", program, filepath.Join(root, "examples", "c", "saxpy.c"), "-lOpenCL"))
	for _, job := range []struct {
		name           string
		disk, compiled int
	}{{"first", 0, 1}, {"second", 1, 0}} {
		dir := filepath.Join(work, job.name)
		if err := os.MkdirAll(filepath.Join(dir, "pocl"), 0o700); err != nil {
			t.Fatal(err)
		}
		if job.disk > 0 {
			do(exec.Command("tar", "-C", dir, "-xf", archive))
		}
		cmd := exec.Command("sh", "-c", script)
		cmd.Dir = dir
		cmd.Env = []string{
			"PATH=" + filepath.Join(prefix, "bin") + ":/usr/bin:/bin", "HOME=" + dir, "POCL_CACHE_DIR=" + filepath.Join(dir, "pocl"),
			"APPLICATION=" + program,
		}
		do(cmd)
		b, err := os.ReadFile(filepath.Join(dir, "first.json"))
		if err != nil {
			t.Fatal(err)
		}
		var report struct {
			Programs struct{ Asked, Disk, Compiled int }
		}
		if err := json.Unmarshal(b, &report); err != nil {
			t.Fatal(err)
		}
		if p := report.Programs; p.Asked != 1 || p.Disk != job.disk || p.Compiled != job.compiled {
			t.Errorf("the %s job: %+v", job.name, p)
		}
		do(exec.Command("tar", "-C", dir, "-cf", archive, ".kernstash"))
	}
}
