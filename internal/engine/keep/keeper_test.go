package keep

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
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

func newRoot(t *testing.T) string { return filepath.Join(t.TempDir(), "root") }

func newKeeper(t *testing.T, root string) (*Keeper, *stats.Counters) {
	counters := new(stats.Counters)
	d := disk.New(disk.Options{Dir: root, Recorder: counters})
	t.Cleanup(func() { _ = d.Close() })
	return New(Options{Store: d, Blobs: d, Recorder: counters}), counters
}

func recipe(t *testing.T) *key.Recipe {
	img, err := key.NewImage(key.OpenCLC, []byte("kernel void k() {}"))
	if err != nil {
		t.Fatal(err)
	}
	return &key.Recipe{Device: key.Device{API: "fake"}, Image: img}
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
	s, _ := newKeeper(t, root)
	const n = 3*headersAtOnce + 1
	s.mu.Lock()
	s.running = true // nobody begins
	s.mu.Unlock()
	s.AddHeaders(someHeaders(n))
	s.AddManifest(key.Digest{1}, []byte(strings.Repeat("m", 100)))
	search := s.Search(recipe(t), key.Digest{})
	if s.FlushArtifacts(time.Now().Add(time.Millisecond)) {
		t.Error("what was not begun is through")
	}
	go s.run()
	if !s.FlushArtifacts(time.Now().Add(3*time.Minute)) || len(written(t, root, "manifests")) != 1 {
		t.Fatal("not written")
	}
	if search.found == nil || search.found.Reason != reason.NearestNothing {
		t.Errorf("nothing is near: %+v", search.found)
	}
	if !s.Flush(time.Now().Add(3 * time.Minute)) {
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
	if s.bytes != 0 {
		t.Errorf("left: %d bytes", s.bytes)
	}
}

// Over the bound header files are dropped first, and an artifact that is dropped is
// counted.
func TestTooMuchIsPending(t *testing.T) {
	t.Parallel()
	s, counters := newKeeper(t, newRoot(t))
	s.mu.Lock()
	s.running = true
	s.mu.Unlock()
	large := make([]byte, maxPending/2+1)
	s.AddHeaders(map[key.Digest][]byte{{1}: large})
	s.AddManifest(key.Digest{1}, large)
	if len(s.later) != 0 || len(s.queue) != 1 || s.bytes != int64(len(large)) {
		t.Errorf("%d header files, %d others, %d bytes", len(s.later), len(s.queue), s.bytes)
	}
	last := append(large, 0)
	s.AddManifest(key.Digest{2}, last)
	if len(s.queue) != 1 || s.queue[0].size != int64(len(last)) || s.bytes != int64(len(last)) {
		t.Errorf("%d others, %d bytes", len(s.queue), s.bytes)
	}
	s.mu.Lock()
	s.queue, s.bytes, s.running = nil, 0, false
	s.mu.Unlock()
	if n := counters.Snapshot()[stats.DiskPutsDropped]; n != 0 {
		t.Errorf("%d artifacts dropped", n)
	}
}

// A search takes no room, so it drops nothing.
func TestASearchDropsNothing(t *testing.T) {
	t.Parallel()
	s, _ := newKeeper(t, newRoot(t))
	s.mu.Lock()
	s.running = true
	s.mu.Unlock()
	s.AddManifest(key.Digest{1}, make([]byte, maxPending+1))
	s.Search(nil, key.Digest{})
	s.mu.Lock()
	if len(s.queue) != 2 {
		t.Errorf("%d tasks", len(s.queue))
	}
	s.queue, s.bytes, s.running = nil, 0, false
	s.mu.Unlock()
}

// Headers that wait when the cache is closed for good are no artifacts that were dropped.
func TestCloseDropsHeaderFiles(t *testing.T) {
	t.Parallel()
	s, _ := newKeeper(t, newRoot(t))
	s.mu.Lock()
	s.running = true
	s.mu.Unlock()
	s.AddHeaders(someHeaders(100))
	if n := s.Close(time.Now()); n != 0 {
		t.Errorf("%d artifacts dropped", n)
	}
	s.mu.Lock()
	s.running = false
	s.mu.Unlock()
	if len(s.later) != 0 {
		t.Error("they wait still")
	}
}
