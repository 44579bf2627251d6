//go:build linux || darwin

package deps

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/key"
)

// aged is a system in which every file is old enough to be remembered.
func aged() system {
	older := func(s stamp) stamp {
		s.mtime -= int64(time.Hour)
		s.ctime -= int64(time.Hour)
		return s
	}
	return system{
		look: func(path string) (kind, stamp, error) {
			k, s, err := look(path)
			return k, older(s), err
		},
		lookAt: lookAt,
		read: func(path string, limit int64) ([]byte, stamp, error) {
			b, s, err := read(path, limit)
			return b, older(s), err
		},
		trusted: everywhere,
		memory:  new(memory),
	}
}

// What is read ahead changes nothing: the same files, probes, contents and reasons as by
// a tracker that reads each file when it comes to it.
func TestReadingAheadChangesNothing(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 5))
	for n := range 300 {
		files, options := randomTree(random)
		dir := tree(t, files)
		u := key.Unit{Kind: key.OpenCLC, Code: []byte(files["m.cl"])}
		s := Search{Dir: dir, Main: dir}
		plain := aged()
		plain.memory = nil
		want, wantErr := newTracker(plain, u, options, s).track()
		ahead := aged()
		for range 2 { // cold, and with all remembered
			got, err := newTracker(ahead, u, options, s).track()
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("%d: %v instead of %v", n, err, wantErr)
			}
			if err != nil {
				continue
			}
			if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(Manifest{}, seen{}, stamp{}, inode{}, probe{})); diff != "" {
				t.Fatalf("%d: %s", n, diff)
			}
		}
	}
}

// wide returns headers that include many others each, and the source that includes them.
func wide(n int) map[string]string {
	files := map[string]string{"m.cl": ""}
	for i := range n {
		files[fmt.Sprintf("d%d/h%d.h", i%7, i)] = fmt.Sprintf("#pragma once\n#include \"../d%d/h%d.h\"\n#include <d%d/h%d.h>\nint x%d;\n",
			(2*i+1)%7, 2*i+1, (2*i+2)%7, 2*i+2, i)
		if i < 3 {
			files["m.cl"] += fmt.Sprintf("#include \"d%d/h%d.h\"\n", i%7, i)
		}
	}
	return files
}

// Each file is read once, however many look for it: those who read ahead, and trackers of
// several units at once.
func TestReadOnceByAll(t *testing.T) {
	t.Parallel()
	files := wide(400)
	dir := tree(t, files)
	sys := aged()
	var mu sync.Mutex
	reads := make(map[string]int)
	plain := sys.read
	sys.read = func(path string, limit int64) ([]byte, stamp, error) {
		mu.Lock()
		reads[filepath.Clean(path)]++
		mu.Unlock()
		return plain(path, limit)
	}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			u := key.Unit{Kind: key.OpenCLC, Code: fmt.Appendf([]byte(files["m.cl"]), "int u%d;\n", i)}
			got, err := newTracker(sys, u, []string{"-I" + dir}, Search{Dir: dir, Main: dir}).track()
			if err != nil {
				t.Error(err)
			} else if len(got.Unit.Files) != 400 {
				t.Errorf("%d files", len(got.Unit.Files))
			}
		})
	}
	all.Wait()
	mu.Lock()
	defer mu.Unlock()
	for path, n := range reads {
		if n != 1 {
			t.Errorf("%s was read %d times", path, n)
		}
	}
	if len(reads) != 400 {
		t.Errorf("%d files were read", len(reads))
	}
}

// A file that changes while it is read ahead is the tracker's to judge, and one that
// cannot be read, or makes the reader panic, is so too.
func TestReadingAheadFails(t *testing.T) {
	t.Parallel()
	files := wide(100)
	dir := tree(t, files)
	for name, spoil := range map[string]func(n int32, b []byte, s stamp) ([]byte, stamp, error){
		"another stamp": func(_ int32, b []byte, s stamp) ([]byte, stamp, error) { s.ctime++; return b, s, nil },
		"an error":      func(int32, []byte, stamp) ([]byte, stamp, error) { return nil, stamp{}, errors.New("spoilt") },
		"a panic": func(n int32, b []byte, s stamp) ([]byte, stamp, error) {
			if n > 0 {
				panic("spoilt")
			}
			return b, s, nil
		},
	} {
		sys := aged()
		plain := sys.read
		var ahead atomic.Int32
		sys.read = func(path string, limit int64) ([]byte, stamp, error) {
			b, s, err := plain(path, limit)
			if err != nil || !strings.HasSuffix(path, "7.h") {
				return b, s, err
			}
			return spoil(ahead.Add(1), b, s)
		}
		u := key.Unit{Kind: key.OpenCLC, Code: []byte(files["m.cl"])}
		func() {
			defer func() {
				// Who asked is told; a goroutine of ours that panics ends nobody.
				if v := recover(); v != nil && name != "a panic" {
					t.Errorf("%s: %v", name, v)
				}
			}()
			if _, err := newTracker(sys, u, []string{"-I" + dir}, Search{Dir: dir, Main: dir}).track(); err == nil && name != "a panic" {
				t.Errorf("%s: nothing is wrong", name)
			}
		}()
	}
}

// With the memory full the tracker reads what there is, and little is read twice.
func TestReadingAheadWithoutRoom(t *testing.T) {
	t.Parallel()
	files := wide(60)
	dir := tree(t, files)
	sys := aged()
	sys.memory.bytes = maxRemembered
	var reads atomic.Int32
	plain := sys.read
	sys.read = func(path string, limit int64) ([]byte, stamp, error) {
		reads.Add(1)
		return plain(path, limit)
	}
	u := key.Unit{Kind: key.OpenCLC, Code: []byte(files["m.cl"])}
	got, err := newTracker(sys, u, []string{"-I" + dir}, Search{Dir: dir, Main: dir}).track()
	if err != nil || len(got.Unit.Files) != 60 {
		t.Errorf("%v, %v", got, err)
	}
	if n := reads.Load(); n > 60+2*mostFetchers {
		t.Errorf("%d reads of 60 files", n)
	}
}
