package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

const smallEntries = 1000

// sample reads some entries, which checks their digests, and compares their code.
func sample(t *table, root, _, _ string, n int) error {
	s := disk.New(disk.Options{Dir: root})
	defer s.Close()
	const some = 1000
	for range some {
		want, err := entry(rand.N(n))
		if err != nil {
			return err
		}
		got, err := s.Get(context.Background(), want.Key)
		if err != nil {
			return fmt.Errorf("the root is not as it should be: %w", err)
		}
		if string(got.Artifact.Binaries[0].Data) != string(want.Artifact.Binaries[0].Data) {
			return fmt.Errorf("other code under %s", want.Key)
		}
	}
	t.line("entries read and compared", fmt.Sprintf("%d, all right", some), "", true)
	return nil
}

// opening measures the first answer of a new store: a miss.
func opening(t *table, root, small, _ string, n int) error {
	e, err := entry(n + 1_000_000_000)
	if err != nil {
		return err
	}
	measure := func(dir string) time.Duration {
		start := time.Now()
		s := disk.New(disk.Options{Dir: dir})
		_, _ = s.Get(context.Background(), e.Key)
		took := time.Since(start)
		s.Close()
		return took
	}
	var many, few []time.Duration
	for range 51 {
		many, few = append(many, measure(root)), append(few, measure(small))
	}
	t.ratio("opening, with a first miss", median(many), median(few), 1.5)
	t.line("the longest of them", short(many[len(many)-1]), "≤ 5 ms", many[len(many)-1] <= 5*time.Millisecond)
	return nil
}

// hits measures hits whose files are in the page cache.
func hits(t *table, root, small, _ string, n int) error {
	const keys, rounds = 500, 21
	get := func(dir string, n int) (func() (time.Duration, error), func() error, error) {
		s := disk.New(disk.Options{Dir: dir})
		var ks []key.Key
		for range keys {
			e, err := entry(rand.N(n))
			if err != nil {
				return nil, nil, err
			}
			ks = append(ks, e.Key)
		}
		return func() (time.Duration, error) {
			start := time.Now()
			for _, k := range ks {
				if _, err := s.Get(context.Background(), k); err != nil {
					return 0, err
				}
			}
			return time.Since(start) / keys, nil
		}, s.Close, nil
	}
	return t.alternate("hit", rounds, 1.5, func(dir string, n int) (func() (time.Duration, error), func() error, error) {
		return get(dir, n)
	}, root, small, n)
}

// puts measures puts of new entries, directories included, and removes them.
func puts(t *table, root, small, _ string, n int) error {
	const batch, rounds = 100, 21
	next := 2_000_000_000
	return t.alternate("put", rounds, 1.5, func(dir string, n int) (func() (time.Duration, error), func() error, error) {
		s := disk.New(disk.Options{Dir: dir, MaxSize: 1 << 50})
		return func() (time.Duration, error) {
			var es []*store.Entry
			for len(es) < batch {
				next++
				if next%1000 < optionsEach {
					continue // of an image of its own
				}
				e, err := entry(next)
				if err != nil {
					return 0, err
				}
				es = append(es, e)
			}
			start := time.Now()
			for _, e := range es {
				if _, err := s.Put(context.Background(), e); err != nil {
					return 0, err
				}
			}
			took := time.Since(start) / batch
			for _, e := range es {
				if err := s.Delete(context.Background(), e.Key); err != nil {
					return 0, err
				}
			}
			return took, nil
		}, s.Close, nil
	}, root, small, n)
}

// alternate measures something in both roots, in turn.
func (t *table) alternate(what string, rounds int, bar float64,
	open func(dir string, n int) (func() (time.Duration, error), func() error, error), root, small string, n int,
) error {
	var times [2][]time.Duration
	var measure [2]func() (time.Duration, error)
	for i, dir := range []string{root, small} {
		f, done, err := open(dir, []int{n, smallEntries}[i])
		if err != nil {
			return err
		}
		defer done()
		measure[i] = f
	}
	// What is over its bar is measured again: the machine may be busy.
	for range 3 {
		times = [2][]time.Duration{}
		for round := range rounds + 1 {
			for i := range measure {
				took, err := measure[i]()
				if err != nil {
					return err
				}
				if round > 0 { // the first brings it into the page cache
					times[i] = append(times[i], took)
				}
			}
		}
		if float64(median(times[0])) <= bar*float64(median(times[1])) {
			break
		}
	}
	t.ratio(what, median(times[0]), median(times[1]), bar)
	return nil
}
