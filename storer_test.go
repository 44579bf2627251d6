package kernstash

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
)

// someHeaders are contents of header files, by digest.
func someHeaders(n int) map[key.Digest][]byte {
	all := make(map[key.Digest][]byte)
	for i := range n {
		content := fmt.Appendf(nil, "#define H %d\n", i)
		all[sha256.Sum256(content)] = content
	}
	return all
}

// written returns when each file on a shelf was written.
func written(t *testing.T, root, shelf string) (times []time.Time) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, ".meta", shelf), func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		times = append(times, info.ModTime())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return times
}

// What was asked for last is written first where the others are header files, and all of
// those are written.
func TestHeaderFilesComeLast(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	c := openCache(t, root)
	const n = 3*headersAtOnce + 1
	s := c.storer
	s.mu.Lock()
	s.running = true // nobody begins
	s.mu.Unlock()
	s.add(storing{headers: someHeaders(n)})
	s.add(storing{manifest: []byte(strings.Repeat("m", 100)), name: key.Digest{1}})
	if !c.storer.addIfIdle(storing{headers: someHeaders(1)}) {
		t.Error("an artifact would wait for them")
	}
	if c.FlushArtifacts(time.Millisecond) {
		t.Error("what was not begun is through")
	}
	go s.run()
	if !c.FlushArtifacts(3*time.Minute) || len(written(t, root, "manifests")) != 1 {
		t.Fatal("not written")
	}
	if !c.Flush(3 * time.Minute) {
		t.Fatal("not through")
	}
	headers := written(t, root, "headers")
	if len(headers) != n {
		t.Errorf("%d header files of %d", len(headers), n)
	}
	first := written(t, root, "manifests")[0]
	for _, at := range headers {
		if at.Before(first) {
			t.Errorf("a header file was written %v before what goes first", first.Sub(at))
		}
	}
	if s.bytes != 0 || s.artifacts != 0 {
		t.Errorf("left: %d bytes, %d artifacts", s.bytes, s.artifacts)
	}
}

// Over the bound header files are dropped first, and an artifact that is dropped is
// counted.
func TestTooMuchIsPending(t *testing.T) {
	t.Parallel()
	c := openCache(t, newRoot(t))
	s := c.storer
	s.mu.Lock()
	s.running = true
	s.mu.Unlock()
	large := make([]byte, maxPending/2+1)
	s.add(storing{headers: map[key.Digest][]byte{{1}: large}})
	s.add(storing{manifest: large, name: key.Digest{1}})
	if len(s.later) != 0 || len(s.queue) != 1 || s.bytes != int64(len(large)) {
		t.Errorf("%d header files, %d others, %d bytes", len(s.later), len(s.queue), s.bytes)
	}
	s.add(storing{manifest: large, name: key.Digest{2}})
	if len(s.queue) != 1 || s.queue[0].name != (key.Digest{2}) || s.bytes != int64(len(large)) {
		t.Errorf("%d others, %d bytes", len(s.queue), s.bytes)
	}
	s.mu.Lock()
	s.queue, s.bytes, s.running = nil, 0, false
	s.mu.Unlock()
	if n := c.Stats()[stats.DiskPutsDropped]; n != 0 {
		t.Errorf("%d artifacts dropped", n)
	}
}

// Headers that wait when the cache is closed for good are no artifacts that were dropped.
func TestCloseDropsHeaderFiles(t *testing.T) {
	t.Parallel()
	c := openCache(t, newRoot(t))
	s := c.storer
	s.mu.Lock()
	s.running = true
	s.mu.Unlock()
	s.add(storing{headers: someHeaders(100)})
	if n := s.close(time.Now()); n != 0 {
		t.Errorf("%d artifacts dropped", n)
	}
	s.mu.Lock()
	s.running = false
	s.mu.Unlock()
	if len(s.later) != 0 {
		t.Error("they wait still")
	}
}
