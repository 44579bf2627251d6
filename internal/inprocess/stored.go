package inprocess

import (
	"sync"
	"sync/atomic"
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

// spend takes away what was used; threads that wait at once may use more than there is.
func (a *allowance) spend(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left = max(a.left-d, 0)
}

// WaitStored waits a little for what was built, which took so long, to be stored. told waits
// until everybody else has been told of it. All of it goes on where it takes longer, and counts as unwritten until it is over.
func (in *Instance) WaitStored(took time.Duration, told func()) {
	stored := make(chan struct{})
	in.unwritten.Add(1)
	go func() {
		defer close(stored)
		defer in.unwritten.Add(-1)
		_ = in.Guard(func() error {
			told()
			in.Cache.FlushArtifacts(waitMost)
			in.Cache.KeepStats()
			in.Cache.Flush(waitHeaders)
			return nil
		})
	}()
	bound := in.delay.add(took)
	if bound <= 0 {
		return
	}
	begun := time.Now()
	wait := time.NewTimer(bound)
	defer wait.Stop()
	select {
	case <-stored:
	case <-wait.C:
	}
	in.delay.spend(time.Since(begun))
}

// Keeper writes statistics along the way. It is safe for concurrent use.
type Keeper struct {
	write     func()
	unwritten *atomic.Int32 // adds up poked of all Keepers

	mu      sync.Mutex
	more    bool  // something was counted
	poked   int32 // calls of Poke that are not written yet
	running bool
	ended   *sync.Cond
}

// NewKeeper returns one that calls write, from a goroutine of its own, and adds to unwritten what is not written yet.
func NewKeeper(write func(), unwritten *atomic.Int32) *Keeper {
	k := &Keeper{write: write, unwritten: unwritten}
	k.ended = sync.NewCond(&k.mu)
	return k
}

// After something was counted it is written at once, and again while it may be changing
// still: what is stored is counted a little later.
const (
	keepFirst = 2 * time.Millisecond
	keepLast  = 128 * time.Millisecond
)

// Poke has the counts written, off the caller's path.
func (k *Keeper) Poke() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.more = true
	k.poked++
	k.unwritten.Add(1)
	if !k.running {
		k.running = true
		go k.run()
	}
}

func (k *Keeper) run() {
	for pause := keepFirst; ; pause *= 2 {
		k.mu.Lock()
		poked := k.poked
		k.mu.Unlock()
		k.write()
		k.mu.Lock()
		k.poked -= poked
		k.unwritten.Add(-poked)
		if k.more {
			k.more = false
			pause = keepFirst
		}
		if pause > keepLast {
			k.running = false
			k.ended.Broadcast()
			k.mu.Unlock()
			return
		}
		k.mu.Unlock()
		time.Sleep(pause)
	}
}

// Wait waits until nothing is to be written.
func (k *Keeper) Wait() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.running {
		k.ended.Wait()
	}
}
