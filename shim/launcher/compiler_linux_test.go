package launcher

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestCalledAsACompiler: called by a compiler's name, through a link, the command is what runs that.
func TestCalledAsACompiler(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := filepath.Join(dir, "ptxas")
	if err := os.Symlink(filepath.Join(tree, "bin", "kernstash"), link); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o700); err != nil {
		t.Fatal(err)
	}
	copyFile(t, "/bin/echo", filepath.Join(dir, "real", "ptxas"))
	path := dir + ":" + filepath.Join(dir, "real") + ":/usr/bin:/bin"
	for _, called := range []string{"ptxas", link} {
		cmd := exec.Command("/bin/sh", "-c", called+" run --version")
		cmd.Env = []string{"PATH=" + path, "HOME=" + dir}
		if out, err := cmd.CombinedOutput(); string(out) != "run --version\n" || err != nil {
			t.Errorf("%s: %q, %v", called, out, err)
		}
	}
}
