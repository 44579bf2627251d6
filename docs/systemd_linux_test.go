package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestSystemdRecipe runs what docs/COMMAND.md has systemd run, in the environment that a
// service of the system has.
func TestSystemdRecipe(t *testing.T) {
	t.Parallel()
	newReader(t)
	document, err := os.ReadFile("COMMAND.md")
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
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			value = strings.ReplaceAll(value, "%C", caches)
			switch name {
			case "Environment":
				cmd.Env = append(cmd.Env, value)
			case "CacheDirectoryMode":
				mode, _ = strconv.ParseUint(value, 8, 32)
			case "CacheDirectory":
				if err := os.Mkdir(filepath.Join(caches, value), 0o700); err != nil {
					t.Fatal(err)
				}
			case "ExecStopPost":
				cmd.Args = append(cmd.Args, "-c", strings.Replace(value, "/usr/bin/", filepath.Join(prefix, "bin")+"/", 1))
			}
		}
		if out, err := cmd.CombinedOutput(); err != nil || mode != 0o700 {
			t.Errorf("mode %04o: %v\n%s", mode, err, out)
		}
		return
	}
	t.Error("there is no recipe")
}
