package compile_test

import (
	"errors"
	"io/fs"
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/compile"
)

// TestNamesArePreloaded: what is preloaded, and the launcher, start exactly those compilers through the command that it knows.
func TestNamesArePreloaded(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../../../shim/preload/compilers.h")
	if _, tree := os.Stat("names_test.go"); errors.Is(err, fs.ErrNotExist) && errors.Is(tree, fs.ErrNotExist) {
		t.Skip("NOT TESTED: this program runs without the sources") // test/gpu/run
	}
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`compilers\[\] = \{([^}]*)\}`).FindSubmatch(b)
	if list == nil {
		t.Fatal("compilers.h has no list of compilers")
	}
	var names []string
	for _, m := range regexp.MustCompile(`"([^"]*)"`).FindAllSubmatch(list[1], -1) {
		names = append(names, string(m[1]))
	}
	if d := cmp.Diff(compile.Names(), names); d != "" {
		t.Errorf("(-the command +what is preloaded):\n%s", d)
	}
}
