package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// manyEntries is how many entries are there when there are many. A million is
// another command's: make bench-million.
const manyEntries = 20_000

// small returns the i-th of many entries of 1 KB.
func small(i int) *store.Entry { return sized(i, 200, 1000) }

// manyRows show what a root costs that has many entries.
func manyRows(s *setting) ([]row, error) {
	ctx := context.Background()
	root := filepath.Join(s.dir, "many")
	many, few := disk.New(disk.Options{Dir: root, MaxSize: 5 << 30}), disk.New(disk.Options{Dir: filepath.Join(s.dir, "few"), MaxSize: 5 << 30})
	s.atEnd(func() { _, _ = many.Close(), few.Close() })
	if err := fill(ctx, many, manyEntries); err != nil {
		return nil, err
	}
	if err := fill(ctx, few, 1000); err != nil {
		return nil, err
	}
	next, nextFew := 0, 0
	var fresh []*store.Entry
	at := manyEntries
	hot := small(7).Key
	put := func(d *disk.Store, next *int) side {
		return func(n int) {
			for range n {
				must(d.Put(ctx, fresh[*next]))
				*next++
			}
		}
	}
	return []row{
		{
			name: fmt.Sprintf("disk put, 1 KB, with %d entries / with 1,000", manyEntries),
			prepare: func(n int) {
				fresh, next, nextFew = fresh[:0], 0, 0
				for range n {
					at++
					fresh = append(fresh, small(at))
				}
			},
			ours: put(many, &next), theirs: put(few, &nextFew), bar: bar{factor: 1.5}, fixed: 10, more: 6,
		},
		{
			name: fmt.Sprintf("opening a root with %d entries, and the first hit", manyEntries),
			ours: func(n int) {
				for range n {
					d := disk.New(disk.Options{Dir: root, MaxSize: 5 << 30})
					must(d.Get(ctx, hot))
					if err := d.Close(); err != nil {
						panic(err)
					}
				}
			},
			bar: bar{extra: 5 * time.Millisecond},
		},
	}, nil
}

// fill puts entries, and waits until the background count of them is over.
func fill(ctx context.Context, d *disk.Store, n int) error {
	var all sync.WaitGroup
	const writers = 2
	for w := range writers {
		all.Go(func() {
			for i := w; i < n; i += writers {
				must(d.Put(ctx, small(i)))
			}
		})
	}
	all.Wait()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if d.Status().Counted {
			return nil
		}
	}
	return fmt.Errorf("%d entries were not counted within a minute", n)
}
