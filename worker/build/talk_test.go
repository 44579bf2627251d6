//go:build linux && !nogpu

package build_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/worker"
)

// shell is a builder that is a script.
func shell(t testing.TB, o worker.Options, script string) worker.Options {
	t.Helper()
	path := filepath.Join(t.TempDir(), "builder")
	must(t, os.WriteFile(path, []byte(script), 0o600))
	// The shell reads it: the kernel would execute no file that a process which another test
	// starts has inherited for writing.
	o.Command = []string{"/bin/sh", path}
	return o
}

// TestTalkativeCompilers: whatever they print, who asks for the worker is told how it
// is.
func TestTalkativeCompilers(t *testing.T) {
	t.Parallel()
	s := newRoot(t)
	for i := range 12 {
		add(t, s, handMade(t, fmt.Sprintf("// %d\n%s", i, small), smallVariant))
	}
	o := shell(t, options(t, s, ""), "cat >/dev/null & head -c 100000 /dev/zero | tr '\\0' '\\1' >&2; kill -9 $$\n")
	if st := work(t, o); st.Refused != 12 {
		t.Errorf("%+v", st)
	}
	st, err := worker.Ask(bg, s)
	if err != nil || st.Refused != 12 || len(st.Last) != 20 {
		t.Fatalf("%+v, %v", st, err)
	}
	for _, e := range st.Last {
		if n := len(e.Reason); n < 100 || n > 2100 {
			t.Errorf("a reason of %d bytes", n)
		}
	}
}

// TestLongOutcome: a job of many launches with long names is done, though some of
// them are left.
func TestLongOutcome(t *testing.T) {
	t.Parallel()
	s := newRoot(t)
	var variants []string
	for i := range 64 {
		variants = append(variants, fmt.Sprintf("k%s%02d/64-1-1", strings.Repeat("_", 1500), i))
	}
	add(t, s, handMade(t, small, variants...))
	said, err := json.Marshal(map[string]any{"state": "stored", "left": variants[1:]})
	must(t, err)
	file := filepath.Join(t.TempDir(), "said")
	must(t, os.WriteFile(file, said, 0o600))
	st := work(t, shell(t, options(t, s, ""), "cat >/dev/null & exec cat "+file+" >&3\n"))
	if st.Done != 1 || st.Waiting != 0 {
		t.Errorf("%+v", st)
	}
}
