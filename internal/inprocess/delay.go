package inprocess

import (
	"sync"
	"time"
)

// A host that ends right after a build ends our threads, too: so it is delayed a little,
// until what was built is stored. It is delayed by what it takes to store, which is less
// than a millisecond on an idle machine, and at the most by what it is allowed.
const (
	waitFirst = 20 * time.Millisecond  // in the life of a process, whatever its builds took
	waitShare = 50                     // and by one part in so many of what they took
	waitMost  = 100 * time.Millisecond // at once

	// waitHeaders is for contents of header files, once all else is stored. They are
	// written while the compiler is busy, and only building again needs them.
	waitHeaders = 5 * time.Millisecond
)

// allowance is what a process may still be delayed by.
type allowance struct {
	mu   sync.Mutex
	left time.Duration
}

// add adds for a build, and returns what there is.
func (a *allowance) add(took time.Duration) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left = min(a.left+took/waitShare, waitMost)
	return a.left
}

// spend takes away what was used. Threads that wait at the same time may use more than
// there is.
func (a *allowance) spend(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left = max(a.left-d, 0)
}

// WaitStored waits a little for what was built, which took so long, to be stored. told waits
// until everybody else has been told of it. All of it goes on where it takes longer.
func (in *Instance) WaitStored(took time.Duration, told func()) {
	bound := in.delay.add(took)
	if bound <= 0 {
		return
	}
	begun := time.Now()
	wait := time.NewTimer(bound)
	defer wait.Stop()
	stored := make(chan struct{})
	go func() {
		defer close(stored)
		_ = in.Guard(func() error {
			told()
			in.Cache.FlushArtifacts(waitMost)
			in.Cache.KeepStats()
			in.Cache.Flush(waitHeaders)
			return nil
		})
	}()
	select {
	case <-stored:
	case <-wait.C:
	}
	in.delay.spend(time.Since(begun))
}
