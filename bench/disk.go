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
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/tiered"
)

const artifactSize = 50_000

// entry returns the i-th of many entries of 50 KB.
func entry(i int) *store.Entry { return sized(i, 2000, artifactSize) }

// sized returns the i-th of many entries.
func sized(i, source, artifact int) *store.Entry {
	img := must(key.NewImage(key.OpenCLC, fmt.Appendf(make([]byte, 0, source+48), "%d %s", i, strings.Repeat("x", source))))
	recipe := &key.Recipe{
		Device:  key.Device{API: "bench", Platform: "p", Name: "n", Version: "1", Driver: "2"},
		Image:   img,
		Options: key.NewOptions("-DN=4", ""),
	}
	return &store.Entry{
		Key: recipe.Key(), Recipe: recipe,
		Artifact: &store.Artifact{
			Binaries: []store.Binary{{Form: store.FormFinal, Data: code(i, artifact)}},
			Kernels:  []store.Kernel{{Name: "k"}}, Cost: time.Second, Created: time.Now(),
		},
	}
}

// code returns the i-th of many artifacts of a size.
func code(i, size int) []byte {
	data := make([]byte, size)
	copy(data, fmt.Sprint(i))
	return data
}

// hotEntries is how many entries hits take turns at.
const hotEntries = 64

// diskRows compare the disk tier with the bare system calls for the same
// bytes, and with stores of others.
func diskRows(s *setting) ([]row, error) {
	ctx := context.Background()
	root := filepath.Join(s.dir, "hits")
	hits := disk.New(disk.Options{Dir: root})
	s.atEnd(func() { _ = hits.Close() })
	keys := make([]key.Key, hotEntries)
	for i := range keys {
		e := entry(i)
		keys[i] = e.Key
		must(hits.Put(ctx, e))
	}
	bins, err := binaries(root)
	if err != nil {
		return nil, err
	}
	src := must(os.ReadFile(strings.TrimSuffix(bins[0], ".bin") + ".src"))
	whole := must(os.ReadFile(bins[0]))

	puts := disk.New(disk.Options{Dir: filepath.Join(s.dir, "puts"), MaxSize: 5 << 30}) // the default limit
	s.atEnd(func() { _ = puts.Close() })
	bare := filepath.Join(s.dir, "bare")
	if err := os.Mkdir(bare, 0o700); err != nil {
		return nil, err
	}
	var peers []diskPeer
	if !s.barsOnly {
		if peers, err = diskPeers(s); err != nil {
			return nil, err
		}
	}
	next, nextBare, nextSame := hotEntries, 0, 0
	fresh := make(map[int]*store.Entry)
	var codes [][]byte       // for peers
	prepare := func(n int) { // making an entry is not part of putting it
		codes = codes[:0]
		for i := next; i < next+n; i++ {
			fresh[i] = entry(i)
			codes = append(codes, fresh[i].Artifact.Binaries[0].Data)
		}
	}
	hit := row{
		name: "disk hit, 50 KB / open + read + SHA-256 of the file",
		ours: func(n int) {
			for i := range n {
				must(hits.Get(ctx, keys[i%hotEntries]))
			}
		},
		theirs: func(n int) {
			for i := range n {
				_ = sha256.Sum256(readBare(bins[i%hotEntries]))
			}
		},
		bar: bar{factor: 1.5},
	}
	put := row{
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
		bar: bar{factor: 3.5}, fixed: 6, more: 5,
	}
	// What a file system takes for a new directory, and for the first file in it, is not
	// the same in two places or at two moments: here both sides have as many. Ours has two
	// digests besides (decision 117).
	same := row{
		name:    "disk put, 50 KB / the same new directories, temporaries and renames",
		prepare: prepare,
		ours:    put.ours,
		theirs: func(n int) {
			for range n {
				dir := filepath.Join(bare, fmt.Sprint("d", nextSame), "constants", "options")
				if err := os.MkdirAll(dir, 0o700); err != nil {
					panic(err)
				}
				writeRename(dir, "0.src", src)
				writeRename(dir, "0.bin", whole)
				nextSame++
			}
		},
		bar: bar{factor: 2.3}, fixed: 6, more: 5,
	}
	for _, p := range peers {
		for i := range hotEntries {
			p.put(digest(i), code(i, artifactSize))
		}
		if p.settle != nil {
			p.settle()
		}
		hit.peers = append(hit.peers, p.hits(false))
		if !p.checks {
			hit.peers = append(hit.peers, p.hits(true))
		}
		i := hotEntries
		put.peers = append(put.peers, peer{p.putName, func(n int) {
			for j := range n {
				p.put(digest(i), codes[j])
				i++
			}
		}})
	}
	return append([]row{hit, put, same, callerRow(s)}, tieredRows(s, hits, keys)...), nil
}

// tieredRows measure what remotes cost a process whose artifacts are on its disk, and one whose
// remote is out of order.
func tieredRows(s *setting, near *disk.Store, keys []key.Key) []row {
	ctx := context.Background()
	behind := tiered.New(near, tiered.Options{Far: []tiered.Far{{Name: "far", Store: failing{near}}}})
	s.atEnd(func() { _ = behind.Close() })
	side := func(from store.Store, key func(i int) key.Key) side {
		return func(n int) {
			for i := range n {
				_, _ = from.Get(ctx, key(i))
			}
		}
	}
	there := func(i int) key.Key { return keys[i%hotEntries] }
	absent := make([]key.Key, hotEntries)
	for i := range absent {
		absent[i] = entry(1_000_000 + i).Key
	}
	nowhere := func(i int) key.Key { return absent[i%hotEntries] }
	return []row{{
		name: "disk hit, 50 KB, with remotes / without",
		ours: side(behind, there), theirs: side(near, there),
		bar:  bar{factor: 1.05},
		more: 8,
	}, {
		name: "disk miss, with a remote that is given up / without",
		ours: side(behind, nowhere), theirs: side(near, nowhere),
		bar:  bar{factor: 1, extra: 2 * time.Microsecond},
		more: 8,
	}}
}

// failing is a remote that refuses.
type failing struct{ store.Store }

func (failing) Get(context.Context, key.Key) (*store.Entry, error) {
	return nil, &store.MissError{Reason: reason.MissRemote}
}

// digest is the i-th of many keys of 32 bytes.
func digest(i int) [32]byte { return sha256.Sum256(fmt.Append(nil, i)) }

// callerRow measures what a program that must be built costs its caller more
// with a disk tier than without: the look, the lock and the hand-over.
func callerRow(s *setting) row {
	ctx := context.Background()
	with := must(kernstash.Open(kernstash.Options{Dir: filepath.Join(s.dir, "caller")}))
	without := must(kernstash.Open(kernstash.Options{NoDisk: true, Mode: kernstash.ModeReadOnly}))
	s.atEnd(func() { _, _ = with.Close(), without.Close() })
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

// binaries returns the .bin files below a root.
func binaries(root string) (bins []string, err error) {
	err = filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".bin") {
			bins = append(bins, path)
		}
		return err
	})
	return bins, err
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
