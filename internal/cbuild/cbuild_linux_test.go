package cbuild

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

// A program that is linked with the library finds it when it runs.
func TestLibraryIsFound(t *testing.T) {
	t.Parallel()
	b := Library(t)
	source := filepath.Join(t.TempDir(), "hello.c")
	text := "#include <stdio.h>\n#include \"kernstash.h\"\n" +
		"int main(void) { printf(\"%s\\n\", kernstash_version()); return 0; }\n"
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(b.Compile(t, []string{source})).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) == "" {
		t.Fatalf("%v: %q", err, out)
	}
	if again := Library(t); again != b {
		t.Error("built twice")
	}
}
