package kernstash

import (
	"time"

	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/key"
)

// Decision is what became of a program for one group of equal devices that was
// asked for and was not in memory.
type Decision struct {
	Key     key.Key // zero where it cannot be cached
	Devices []int   // of the context
	Size    int64   // bytes of the device image

	Origin   Origin // zero: it failed
	Err      error  // why it failed; a *BuildError is the compiler's verdict
	Reason   string // of Compiled: why it was not restored
	Nearest  string // of Compiled: what the nearest entry differs in; "" where that was not looked for
	Observed string // mode observe: "equal", "different" or "incomparable", of an entry that was there

	Spent   time.Duration // loading or compiling
	Saved   time.Duration // of Disk: the recorded cost of the build, less Spent
	Bytes   int64         // of Disk: of the artifact
	Kernels []string      // as far as known
}

// decidedBy returns what takes those of the engine, for f; nil for nil.
func decidedBy(f func(Decision)) func(engine.Decision) {
	if f == nil {
		return nil
	}
	return func(d engine.Decision) {
		f(Decision{
			Key: d.Key, Devices: d.Devices, Size: d.Size, Origin: Origin(d.Origin), Err: d.Err, Reason: d.Reason, Nearest: d.Nearest,
			Observed: d.Observed, Spent: d.Spent, Saved: d.Saved, Bytes: d.Bytes, Kernels: d.Kernels,
		})
	}
}
