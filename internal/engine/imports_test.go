package engine

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// The engine reads no variable and no file by itself, and knows no kind of store.
func TestImports(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("*/*.go")
	if err != nil || len(files) < 10 || len(more) < 3 {
		t.Fatalf("%d and %d files, %v", len(files), len(more), err)
	}
	for _, name := range append(files, more...) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			switch path := strings.Trim(i.Path.Value, `"`); path {
			case "os", "syscall", "golang.org/x/sys/unix", "github.com/kernstash/kernstash/store/disk":
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
}
