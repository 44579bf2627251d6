package inprocess

import (
	"sync"
	"time"
)

// Keeper writes statistics along the way. It is safe for concurrent use.
type Keeper struct {
	write   func()
	mu      sync.Mutex
	more    bool // something was counted
	running bool
	ended   *sync.Cond
}

// NewKeeper returns one that calls write, from a goroutine of its own.
func NewKeeper(write func()) *Keeper {
	k := &Keeper{write: write}
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
	if !k.running {
		k.running = true
		go k.run()
	}
}

func (k *Keeper) run() {
	for pause := keepFirst; ; pause *= 2 {
		k.write()
		k.mu.Lock()
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
