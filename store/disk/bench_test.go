//go:build linux

package disk

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
	"github.com/kernstash/kernstash/store/storetest"
)

// The bars: BenchmarkHit50KB takes at most 1.5 times BenchmarkRawOpenReadSHA,
// BenchmarkPut50KB at most 3.5 times BenchmarkRawTwoTempRename.

const benchCode = 50_000

// benchSource is about what a kernel's source is.
var benchSource = strings.Repeat("kernel void k(global float *p) { p[get_global_id(0)] *= 2.0f; }\n", 64)

func benchEntry(b *testing.B, seed string) *store.Entry {
	return storetest.Entry(storetest.Recipe(b, benchSource+"// "+seed, "-DSEED="+seed), seed, benchCode)
}

func BenchmarkHit50KB(b *testing.B) {
	s := open(b)
	e := benchEntry(b, "hit")
	if _, err := s.Put(context.Background(), e); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Get(context.Background(), e.Key); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRawOpenReadSHA(b *testing.B) {
	s := open(b)
	e := benchEntry(b, "hit")
	if _, err := s.Put(context.Background(), e); err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(s.o.Dir, s.at.Names(e.Key).File(rootdir.BinName(0)))
	b.ReportAllocs()
	var sum [sha256.Size]byte
	for b.Loop() {
		data, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		sum = sha256.Sum256(data)
	}
	_ = sum
}

func BenchmarkMiss(b *testing.B) {
	s := open(b)
	if _, err := s.Put(context.Background(), benchEntry(b, "there")); err != nil {
		b.Fatal(err)
	}
	k := benchEntry(b, "not there").Key
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Get(context.Background(), k); err == nil {
			b.Fatal("a hit")
		}
	}
}

// entries makes enough entries for a loop without counting the time.
func benchEntries(b *testing.B, n int) []*store.Entry {
	entries := make([]*store.Entry, n)
	for i := range entries {
		entries[i] = benchEntry(b, fmt.Sprint(i))
	}
	return entries
}

func BenchmarkPut50KB(b *testing.B) {
	s := open(b)
	entries := benchEntries(b, b.N)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if res, err := s.Put(context.Background(), entries[i]); err != nil || res != store.Stored {
			b.Fatal(res, err)
		}
	}
}

func BenchmarkPutLimited50KB(b *testing.B) {
	s := open(b, func(o *Options) { o.MaxSize = 1 << 40 })
	entries := benchEntries(b, b.N)
	b.ResetTimer()
	for i := range b.N {
		if res, err := s.Put(context.Background(), entries[i]); err != nil || res != store.Stored {
			b.Fatal(res, err)
		}
	}
}

func BenchmarkPutExisting50KB(b *testing.B) {
	s := open(b)
	e := benchEntry(b, "e")
	for b.Loop() {
		if _, err := s.Put(context.Background(), e); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRawTwoTempRename writes the same bytes to two temporary files and
// renames them, in one directory that is there.
func BenchmarkRawTwoTempRename(b *testing.B) {
	dir := b.TempDir()
	e := benchEntry(b, "raw")
	bin, err := format.EncodeBin(e.Key, e.Artifact)
	if err != nil {
		b.Fatal(err)
	}
	src, err := format.EncodeSrc(e.Recipe)
	if err != nil {
		b.Fatal(err)
	}
	var whole []byte
	for _, p := range bin.Parts {
		whole = append(whole, p...)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		for suffix, data := range map[string][]byte{srcSuffix: src, binSuffix: whole} {
			f, err := os.CreateTemp(dir, "tmp")
			if err != nil {
				b.Fatal(err)
			}
			if _, err := f.Write(data); err != nil {
				b.Fatal(err)
			}
			if err := f.Close(); err != nil {
				b.Fatal(err)
			}
			if err := os.Rename(f.Name(), filepath.Join(dir, fmt.Sprint(i)+suffix)); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkLockUnlock(b *testing.B) {
	s := open(b)
	k := benchEntry(b, "k").Key
	for b.Loop() {
		unlock, err := s.Lock(context.Background(), k, 0)
		if err != nil {
			b.Fatal(err)
		}
		unlock()
	}
}
