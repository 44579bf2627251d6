//go:build linux || darwin

package manifest

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kernstash/kernstash/deps/internal/files"
	"github.com/kernstash/kernstash/key"
)

// hourAgo is the file system as it would be if nothing had changed for an hour, which
// several may look at. Looks at what slow names wait until it is closed.
func hourAgo(slow string, until chan struct{}) files.System {
	older := func(s files.Stamp) files.Stamp {
		s.Mtime -= int64(time.Hour)
		s.Ctime -= int64(time.Hour)
		return s
	}
	var waited atomic.Bool
	return files.System{
		Look: func(path string) (files.Kind, files.Stamp, error) {
			if slow != "" && filepath.Base(path) == slow && !waited.Swap(true) {
				<-until
			}
			k, s, err := files.OS.Look(path)
			return k, older(s), err
		},
		LookAt: files.OS.LookAt,
		Read: func(path string, limit int64) ([]byte, files.Stamp, error) {
			b, s, err := files.OS.Read(path, limit)
			return b, older(s), err
		},
		Trusted: func(string, uint64) bool { return true },
		AtOnce:  true,
	}
}

// manyHeaders makes a unit that reads 500 files and looks for 500 in vain.
func manyHeaders(t *testing.T) (dir string, u key.Unit, m *Manifest) {
	t.Helper()
	if runtime.GOMAXPROCS(0) == 1 {
		t.Skip("there is one processor")
	}
	dir = t.TempDir()
	for i := range 7 {
		for _, below := range []string{"a", "b"} {
			if err := os.MkdirAll(fmt.Sprintf("%s/%s/d%d", dir, below, i), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	u = key.Unit{Kind: key.OpenCLC, Code: []byte("#include <h0.h>\n")}
	tracked := u
	sys := hourAgo("", nil)
	var reads []Read
	var probes []files.Probe
	for i := range 500 {
		path, content := fmt.Sprintf("%s/b/d%d/h%d.h", dir, i%7, i), fmt.Sprintf("int h%d;\n", i)
		put(t, path, content)
		_, st, err := sys.Look(path)
		if err != nil {
			t.Fatal(err)
		}
		tracked.Files = append(tracked.Files, key.File{Path: path, Digest: sha256.Sum256([]byte(content)), Size: st.Size})
		reads = append(reads, Read{Path: path, File: i, Stamp: st, Settled: true})
		probes = append(probes, files.Probe{Path: fmt.Sprintf("%s/a/d%d/h%d.h", dir, i%7, i), Kind: files.Nothing})
	}
	return dir, u, New(tracked, Unplaced, reads, probes)
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func checkOn(m *Manifest, s files.System, u key.Unit) (renewed bool, changed string) {
	c := m.BeginOn(s, u)
	defer c.Close()
	return c.End()
}

// Several who look find what one finds, wherever it is.
func TestSurveyFindsEachChange(t *testing.T) {
	t.Parallel()
	dir, u, m := manyHeaders(t)
	sys := hourAgo("", nil)
	for i := 0; i < 500; i += 23 {
		path := filepath.Join(dir, fmt.Sprintf("b/d%d/h%d.h", i%7, i))
		if renewed, changed := checkOn(m, sys, u); renewed || changed != "" {
			t.Fatalf("unchanged: renewed %v, changed %q", renewed, changed)
		}
		was, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		put(t, path, "int other;")
		if _, changed := checkOn(m, sys, u); changed != path {
			t.Fatalf("%s: changed %q", path, changed)
		}
		if changed := m.ChangedOn(sys); changed != path {
			t.Fatalf("%s: behind the build: changed %q", path, changed)
		}
		put(t, path, string(was))
		if changed := m.ChangedOn(sys); changed != path {
			t.Fatalf("%s: touched during the build: changed %q", path, changed)
		}
		if renewed, changed := checkOn(m, sys, u); !renewed || changed != "" {
			t.Fatalf("%s: touched: renewed %v, changed %q", path, renewed, changed)
		}
		hidden := filepath.Join(dir, fmt.Sprintf("a/d%d/h%d.h", i%7, i))
		put(t, hidden, "")
		if _, changed := checkOn(m, sys, u); changed != hidden {
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
	_, u, m := manyHeaders(t)
	until := make(chan struct{})
	defer close(until)
	last := filepath.Base(m.reads[0].Path)
	c := m.BeginOn(hourAgo(last, until), u)
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
