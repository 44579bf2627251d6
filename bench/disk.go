package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

const artifactSize = 50_000

// entry returns the i-th of many entries of 50 KB.
func entry(i int) *store.Entry {
	img := must(key.NewImage(key.OpenCLC, fmt.Appendf(make([]byte, 0, 2048), "%d %s", i, strings.Repeat("x", 2000))))
	recipe := &key.Recipe{
		Device:  key.Device{API: "bench", Platform: "p", Name: "n", Version: "1", Driver: "2"},
		Image:   img,
		Options: key.NewOptions("-DN=4", ""),
	}
	data := make([]byte, artifactSize)
	copy(data, fmt.Sprint(i))
	return &store.Entry{
		Key: recipe.Key(), Recipe: recipe,
		Artifact: &store.Artifact{
			Binaries: []store.Binary{{Form: store.FormFinal, Data: data}},
			Kernels:  []store.Kernel{{Name: "k"}}, Cost: time.Second, Created: time.Now(),
		},
	}
}

// diskRows compare the disk tier with the bare system calls for the same
// bytes.
func diskRows(dir string) ([]row, func(), error) {
	ctx := context.Background()
	hits := disk.New(disk.Options{Dir: filepath.Join(dir, "hits")})
	e := entry(0)
	if _, err := hits.Put(ctx, e); err != nil {
		return nil, nil, err
	}
	bin, err := theBin(filepath.Join(dir, "hits"))
	if err != nil {
		return nil, nil, err
	}
	src := must(os.ReadFile(strings.TrimSuffix(bin, ".bin") + ".src"))
	whole := must(os.ReadFile(bin))

	puts := disk.New(disk.Options{Dir: filepath.Join(dir, "puts"), MaxSize: 5 << 30}) // the default limit
	bare := filepath.Join(dir, "bare")
	if err := os.Mkdir(bare, 0o700); err != nil {
		return nil, nil, err
	}
	next, nextBare := 1, 0
	fresh := make(map[int]*store.Entry)
	prepare := func(n int) { // making an entry is not part of putting it
		for i := next; i < next+n; i++ {
			fresh[i] = entry(i)
		}
	}
	rows := []row{
		{
			name: "disk hit, 50 KB / open + read + SHA-256 of the file",
			ours: func(n int) {
				for range n {
					must(hits.Get(ctx, e.Key))
				}
			},
			theirs: func(n int) {
				for range n {
					_ = sha256.Sum256(readBare(bin))
				}
			},
			bar: bar{factor: 1.5},
		},
		{
			name:    "disk put, 50 KB, new directories / two temporaries and renames",
			prepare: prepare,
			ours: func(n int) {
				for range n {
					must(puts.Put(ctx, fresh[next]))
					delete(fresh, next)
					next++
				}
			},
			theirs: func(n int) {
				for range n {
					writeRename(bare, fmt.Sprintf("%d.src", nextBare), src)
					writeRename(bare, fmt.Sprintf("%d.bin", nextBare), whole)
					nextBare++
				}
			},
			bar: bar{factor: 3.5}, fixed: 30,
		},
		callerRow(filepath.Join(dir, "caller")),
	}
	return rows, func() { _, _ = hits.Close(), puts.Close() }, nil
}

// callerRow measures what a program that must be built costs its caller more
// with a disk tier than without: the look, the lock and the hand-over.
func callerRow(dir string) row {
	ctx := context.Background()
	with := must(kernstash.Open(kernstash.Options{Dir: dir}))
	without := must(kernstash.Open(kernstash.Options{NoDisk: true}))
	i := 0
	build := func(c *kernstash.Cache) side {
		x := kernstash.NewContext(c, compiler(), kernstash.ContextOptions{})
		var images []*kernstash.Image
		return func(n int) {
			images = images[:0]
			for range n {
				i++
				images = append(images, sourceImage(1_000_000+i))
			}
			for _, img := range images {
				must(x.Program(ctx, kernstash.Request{Image: img})).Release()
			}
		}
	}
	return row{
		name: "build with the disk tier / without: the caller's time",
		// One build a round: several would compete with the stores of those before
		// them, which the row is not about.
		ours: build(with), theirs: build(without), fixed: 1, more: 20,
		bar:   bar{factor: 1, extra: 50 * time.Microsecond},
		pause: func() { with.Flush(time.Minute) },
	}
}

func theBin(root string) (bin string, err error) {
	err = filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".bin") {
			bin = path
		}
		return err
	})
	return bin, err
}

// readBare reads a file with one open, one stat and one read.
func readBare(path string) []byte {
	f := must(os.Open(path))
	defer f.Close()
	b := make([]byte, must(f.Stat()).Size())
	must(f.Read(b))
	return b
}

func writeRename(dir, name string, b []byte) {
	f := must(os.CreateTemp(dir, "tmp"))
	must(f.Write(b))
	if err := f.Close(); err != nil {
		panic(err)
	}
	if err := os.Rename(f.Name(), filepath.Join(dir, name)); err != nil {
		panic(err)
	}
}
