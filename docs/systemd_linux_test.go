package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestSystemdRecipe runs what docs/COMMAND.md and docs/DEPLOY.md have systemd run, in the environment that a
// service of the system has.
func TestSystemdRecipe(t *testing.T) {
	t.Parallel()
	newReader(t)
	for _, name := range []string{"COMMAND.md", "DEPLOY.md"} {
		systemdRecipe(t, name)
	}
}

func systemdRecipe(t *testing.T, name string) {
	t.Helper()
	document, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := parse(string(document))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range blocks {
		if b.kind != "ini" || !strings.Contains(b.text, "ExecStopPost=") {
			continue
		}
		caches := t.TempDir()
		cmd := exec.Command("sh")
		cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
		var mode uint64
		for line := range strings.Lines(b.text) {
			variable, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			value = strings.ReplaceAll(value, "%C", caches)
			switch variable {
			case "Environment":
				cmd.Env = append(cmd.Env, value)
			case "CacheDirectoryMode":
				mode, _ = strconv.ParseUint(value, 8, 32)
			case "CacheDirectory":
				if err := os.Mkdir(filepath.Join(caches, value), 0o700); err != nil {
					t.Fatal(err)
				}
			case "ExecStopPost":
				value, may := strings.CutPrefix(value, "-")
				if !may {
					t.Errorf("%s: a worker that fails makes the service fail", name)
				}
				cmd.Args = append(cmd.Args, "-c", strings.Replace(value, "/usr/bin/", filepath.Join(prefix, "bin")+"/", 1))
			}
		}
		if out, err := cmd.CombinedOutput(); err != nil || mode != 0o700 {
			t.Errorf("mode %04o: %v\n%s", mode, err, out)
		}
		return
	}
	t.Errorf("%s: there is no recipe", name)
}
