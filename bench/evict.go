package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kernstash/kernstash/store/disk"
)

// evictRows show what it costs to remove entries to make room.
func evictRows(s *setting) ([]row, error) {
	if s.barsOnly {
		return nil, nil
	}
	ctx := context.Background()
	d := disk.New(disk.Options{Dir: filepath.Join(s.dir, "evict"), MaxSize: 5 << 30, Policy: disk.Cost})
	s.atEnd(func() { _ = d.Close() })
	bare := filepath.Join(s.dir, "evict-bare")
	if err := os.Mkdir(bare, 0o700); err != nil {
		return nil, err
	}
	const fixed = 200
	next := 0
	return []row{{
		name: fmt.Sprintf("evicting an entry: gc of %d / unlink 2 files, rmdir 3 directories", fixed),
		prepare: func(n int) {
			for i := range n {
				next++
				must(d.Put(ctx, small(next)))
				dir := filepath.Join(bare, fmt.Sprint(i), "c", "o")
				if err := os.MkdirAll(dir, 0o700); err != nil {
					panic(err)
				}
				for _, name := range []string{"0.bin", "0.src"} {
					if err := os.WriteFile(filepath.Join(dir, name), make([]byte, 1000), 0o600); err != nil {
						panic(err)
					}
				}
			}
		},
		ours: func(n int) {
			if r := must(d.GC(ctx, disk.GCOptions{MaxSize: 1}, nil)); r.Removed != int64(n) {
				panic(fmt.Sprintf("%d entries removed, want %d", r.Removed, n))
			}
		},
		theirs: func(n int) {
			for i := range n {
				top := filepath.Join(bare, fmt.Sprint(i))
				for _, name := range []string{"c/o/0.bin", "c/o/0.src", "c/o", "c", ""} {
					if err := os.Remove(filepath.Join(top, name)); err != nil {
						panic(err)
					}
				}
			}
		},
		fixed: fixed,
	}}, nil
}
