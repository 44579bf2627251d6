package opencl

import "time"

// settleTime is how long a queue, a context or a sub-device of a deferring
// driver outlives the last command. PoCL 3.1's worker thread touches a
// command's event, and what it belongs to, for some microseconds after Finish
// has returned; releasing them at once crashed the process now and then
// (POclReleaseEvent, in 1 of 6 runs of this package's tests).
const settleTime = 10 * time.Millisecond

// settle lets the driver's threads come to rest before something is released.
func settle(d *Device) {
	if d.Kind() == Deferred {
		time.Sleep(settleTime)
	}
}
