package deps

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kernstash/kernstash/internal/needs"
	"github.com/kernstash/kernstash/key"
)

// clang returns the command of the clang on PATH; a test that needs it is
// skipped loudly where there is none.
var findClang = sync.OnceValue(func() string {
	for _, name := range []string{"clang", "clang-21", "clang-20", "clang-19", "clang-18", "clang-17", "clang-16", "clang-15", "clang-14"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
})

func clang(t testing.TB) string {
	t.Helper()
	path := findClang()
	if path == "" {
		needs.Missing(t, "there is no clang", "clang-15")
	}
	return path
}

// clangFiles returns the files that clang reads besides the source, by their
// real paths. ok is false where it refuses the source; then they are those that
// it had read until its first error: behind that it guesses what was meant.
func clangFiles(t testing.TB, dir, source string, args ...string) (files []string, ok bool) {
	t.Helper()
	c := exec.Command(clang(t), append(append([]string{"-E", "-M", "-H", "-w"}, args...), source)...)
	c.Dir = dir
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	var list []string
	if err == nil {
		_, names, _ := strings.Cut(string(out), ":")
		list = strings.Fields(strings.ReplaceAll(names, "\\\n", " "))
		if len(list) == 0 {
			t.Fatalf("clang says nothing: %s", out)
		}
		list = list[1:]
	}
	for line := range strings.Lines(stderr.String()) {
		if strings.Contains(line, "error:") {
			break
		}
		if dots, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok && dots != "" && strings.Trim(dots, ".") == "" {
			list = append(list, name)
		}
	}
	for _, f := range list {
		if !filepath.IsAbs(f) {
			f = dir + "/" + f
		}
		real, err := filepath.EvalSymlinks(f)
		if err != nil {
			t.Fatalf("clang names %s: %v", f, err)
		}
		if !slices.Contains(files, real) {
			files = append(files, real)
		}
	}
	return files, err == nil
}

// clangSystem returns the directories that clang searches by itself.
func clangSystem(t testing.TB, args ...string) (dirs []string) {
	t.Helper()
	c := exec.Command(clang(t), append(append([]string{"-E", "-v"}, args...), os.DevNull)...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("clang -v: %v: %s", err, out)
	}
	_, list, _ := strings.Cut(string(out), "#include <...> search starts here:\n")
	list, _, _ = strings.Cut(list, "End of search list.")
	for dir := range strings.Lines(list) {
		dirs = append(dirs, strings.TrimSpace(dir))
	}
	return dirs
}

// tracked returns the real paths of the files of a unit.
func tracked(t testing.TB, u key.Unit) map[string]bool {
	t.Helper()
	files := make(map[string]bool)
	for _, f := range u.Files {
		real, err := filepath.EvalSymlinks(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		files[real] = true
	}
	return files
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
