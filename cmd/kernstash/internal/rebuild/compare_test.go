package rebuild

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/needs"
	"github.com/kernstash/kernstash/store"
)

// object compiles C.
func object(t *testing.T, source string, options ...string) []byte {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		needs.Missing(t, "cc", "gcc")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "k.c"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(cc, append(options, "-O1", "-c", "-o", "k.o", "k.c")...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b, err := os.ReadFile(filepath.Join(dir, "k.o"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCompare(t *testing.T) {
	t.Parallel()
	const source = "int k(int x) { return x + 1; }\n"
	code := object(t, source)
	commented := object(t, source+"__asm__(\".section .note, \\\"\\\"; .ascii \\\"x\\\"; .text\");\n")
	other := object(t, "int k(int x) { return x + 2; }\n")
	two := object(t, source+"int l(int x) { return x * 3; }\n", "-ffunction-sections")
	const head = "container \x7fELF of others \x00"
	artifact := func(f store.Form, b ...byte) *store.Artifact {
		return &store.Artifact{Binaries: []store.Binary{{Form: f, Data: b}}}
	}
	launches := artifact(store.FormDeferred, code...)
	launches.Variants = []string{"k/64-1-1-goffs0-smallgrid"}
	for name, c := range map[string]struct {
		was, now *store.Artifact
		want     Verdict
		reason   string
	}{
		"equal":              {artifact(store.FormFinal, code...), artifact(store.FormFinal, code...), Equal, ""},
		"outside":            {artifact(store.FormFinal, code...), artifact(store.FormFinal, commented...), SameCode, "outside of code"},
		"code":               {artifact(store.FormFinal, code...), artifact(store.FormFinal, other...), Different, "section .text"},
		"more code":          {artifact(store.FormFinal, code...), artifact(store.FormFinal, two...), Different, "section .text"},
		"in a container":     {artifact(store.FormDeferred, append([]byte(head), code...)...), artifact(store.FormDeferred, append([]byte(head+"2"), code...)...), SameCode, "outside of code"},
		"other in container": {artifact(store.FormDeferred, append([]byte(head), code...)...), artifact(store.FormDeferred, append([]byte(head), other...)...), Different, "section .text"},
		"no ELF":             {artifact(store.FormIntermediate, 'a'), artifact(store.FormIntermediate, 'b', 'c'), Different, "1 and 2 bytes, which are not compared by sections: there is no ELF file with code in it"},
		"another form":       {artifact(store.FormFinal, code...), artifact(store.FormDeferred, code...), Different, "there is no final form any more"},
		"launches":           {launches, artifact(store.FormDeferred, code...), Different, "ready for other launches"},
	} {
		verdict, reason := compare(c.was, c.now)
		if diff := cmp.Diff([]string{string(c.want), c.reason}, []string{string(verdict), reason}); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
