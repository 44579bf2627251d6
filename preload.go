package kernstash

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
)

// Progress tells of one program of a Preload.
type Progress struct {
	Done, Total int     // programs so far, this one included, and in all
	Request     Request // which program this was
	Origin      Origin  // where it came from; zero if it failed
	Against     string  // why it will not be stored; empty if nothing is against it
	Err         error   // why it failed
}

// Preload builds or loads many programs in parallel, as many at a time as
// there are CPUs, and leaves them in memory. It goes on when one fails, and
// returns all errors joined. Cancelling ctx ends it early.
func (x *Context[P, K]) Preload(ctx context.Context, requests ...Request) error {
	errs := make([]error, len(requests))
	next := make(chan int)
	var mu sync.Mutex
	done := 0
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(requests)) {
		all.Go(func() {
			for i := range next {
				p := Progress{Total: len(requests), Request: requests[i]}
				program, err := x.Program(ctx, requests[i])
				if err == nil {
					p.Origin, p.Against = program.Origin(), program.Against()
					program.Release()
				} else {
					p.Err = err
					errs[i] = fmt.Errorf("preload request %d: %w", i, err)
				}
				mu.Lock()
				done++
				p.Done = done
				if x.options.Progress != nil {
					x.options.Progress(p)
				}
				mu.Unlock()
			}
		})
	}
	for i := range requests {
		next <- i
	}
	close(next)
	all.Wait()
	return errors.Join(errs...)
}
