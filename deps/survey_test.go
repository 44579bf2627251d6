//go:build linux || darwin

package deps

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kernstash/kernstash/key"
)

// hourAgo is the file system as it would be if nothing had changed for an hour, which
// several may look at. Looks at what slow names wait until it is closed.
func hourAgo(slow string, until chan struct{}) system {
	older := func(s stamp) stamp {
		s.mtime -= int64(time.Hour)
		s.ctime -= int64(time.Hour)
		return s
	}
	var waited atomic.Bool
	return system{
		look: func(path string) (kind, stamp, error) {
			if slow != "" && filepath.Base(path) == slow && !waited.Swap(true) {
				<-until
			}
			k, s, err := look(path)
			return k, older(s), err
		},
		lookAt: lookAt,
		read: func(path string, limit int64) ([]byte, stamp, error) {
			b, s, err := read(path, limit)
			return b, older(s), err
		},
		trusted: everywhere,
		atOnce:  true,
	}
}

// manyHeaders makes a unit that reads 500 files and looks for 300 in vain.
func manyHeaders(t *testing.T) (dir string, u key.Unit, m *Manifest) {
	t.Helper()
	if runtime.GOMAXPROCS(0) == 1 {
		t.Skip("there is one processor")
	}
	files := make(map[string]string)
	var code strings.Builder
	for i := range 500 {
		files[fmt.Sprintf("b/d%d/h%d.h", i%7, i)] = fmt.Sprintf("int h%d;\n", i)
		fmt.Fprintf(&code, "#include <d%d/h%d.h>\n", i%7, i)
	}
	for i := range 7 {
		files[fmt.Sprintf("a/d%d/other.h", i)] = ""
	}
	dir = tree(t, files)
	u = key.Unit{Kind: key.OpenCLC, Code: []byte(code.String())}
	got := trackBy(t, hourAgo("", nil), u, []string{"-Ia", "-Ib"}, Search{Dir: dir, Main: dir + "/a"})
	if n := len(got.Manifest.reads); n != 500 {
		t.Fatalf("%d files", n)
	}
	if n := len(got.Manifest.probes); n < 500 {
		t.Fatalf("%d probes", n)
	}
	return dir, u, got.Manifest
}

// Several who look find what one finds, wherever it is.
func TestSurveyFindsEachChange(t *testing.T) {
	t.Parallel()
	dir, u, m := manyHeaders(t)
	sys := hourAgo("", nil)
	for i := 0; i < 500; i += 23 {
		path := filepath.Join(dir, fmt.Sprintf("b/d%d/h%d.h", i%7, i))
		if _, renewed, changed := m.check(sys, u); renewed || changed != "" {
			t.Fatalf("unchanged: renewed %v, changed %q", renewed, changed)
		}
		was, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		write(t, path, "int other;")
		if _, _, changed := m.check(sys, u); changed != path {
			t.Fatalf("%s: changed %q", path, changed)
		}
		if changed := m.changed(sys); changed != path {
			t.Fatalf("%s: behind the build: changed %q", path, changed)
		}
		write(t, path, string(was))
		if changed := m.changed(sys); changed != path {
			t.Fatalf("%s: touched during the build: changed %q", path, changed)
		}
		if _, renewed, changed := m.check(sys, u); !renewed || changed != "" {
			t.Fatalf("%s: touched: renewed %v, changed %q", path, renewed, changed)
		}
		hidden := filepath.Join(dir, fmt.Sprintf("a/d%d/h%d.h", i%7, i))
		write(t, hidden, "")
		if _, _, changed := m.check(sys, u); changed != hidden {
			t.Fatalf("%s is new: changed %q", hidden, changed)
		}
		if err := os.Remove(hidden); err != nil {
			t.Fatal(err)
		}
	}
}

// Who found no processor, or a file system that does not answer, is not waited for.
func TestSurveyWaitsForNobody(t *testing.T) {
	t.Parallel()
	_, _, m := manyHeaders(t)
	until := make(chan struct{})
	defer close(until)
	last := filepath.Base(m.reads[0].Path)
	c := m.begin(hourAgo(last, until))
	for c.v.next.Load() == 0 { // somebody else has taken it
		runtime.Gosched()
	}
	done := make(chan string, 1)
	go func() {
		defer c.Close()
		_, changed := c.End()
		done <- changed
	}()
	select {
	case changed := <-done:
		if changed != "" {
			t.Errorf("changed %q", changed)
		}
	case <-time.After(3 * time.Minute):
		t.Fatal("it waits")
	}
	if c.v.read(0) {
		t.Error("the part that nobody has looked at counts")
	}
}
