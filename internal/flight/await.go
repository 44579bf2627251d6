package flight

import (
	"sync"
	"time"
)

// Await waits until done, at most until deadline, and reports what done says then. The lock
// of c is held; whoever changes what done looks at signals c.
func Await(c *sync.Cond, deadline time.Time, done func() bool) bool {
	wake := time.AfterFunc(time.Until(deadline), func() {
		c.L.Lock() // else the signal may come between a waiter's look and its wait
		defer c.L.Unlock()
		c.Broadcast()
	})
	defer wake.Stop()
	for !done() && time.Now().Before(deadline) {
		c.Wait()
	}
	return done()
}
