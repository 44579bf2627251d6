// Package machine runs the programs of the demonstration on a device of any runtime,
// over a cache.
package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/stats"
)

// Find returns the device that choice means, the first one if it is empty, of the
// runtime of a name; if that is empty, of the first of all runtimes that has a device.
func Find(runtime, choice string) (rt *tool.Runtime, d tool.Device, failed error) {
	for _, rt := range runtimes.All {
		if !HasMachines(rt) || runtime != "" && runtime != rt.Name {
			continue
		}
		devices, err := rt.Devices()
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		d, err := Pick(devices, choice)
		return rt, d, err
	}
	if runtime == "" {
		failed = fmt.Errorf("no runtime has a device:\n%w", failed)
	}
	return nil, d, failed
}

// HasMachines reports whether programs run on devices of a runtime.
func HasMachines(rt *tool.Runtime) bool { return rt.Devices != nil }

// Origin says where a program came from.
type Origin string

// The origins.
const (
	FromCompiler Origin = "compiled"
	FromDisk     Origin = "disk"
	FromMemory   Origin = "memory"
)

// From reads from what was counted where an answer came from.
func From(s stats.Snapshot) Origin {
	switch {
	case s[stats.Builds] > 0:
		return FromCompiler
	case s[stats.DiskHits] > 0:
		return FromDisk
	case s[stats.MemoryHits] > 0:
		return FromMemory
	}
	return ""
}

// captureWait bounds the wait for a capture: PoCL compiles each kernel again
// for it, which takes as long as the build did.
const captureWait = time.Minute

// AwaitStored waits until what was built since before is captured and stored,
// where the driver makes it wait for a launch, and given up where not.
func AwaitStored(ctx context.Context, cache *kernstash.Cache, before stats.Snapshot) error {
	late := time.After(captureWait)
	for {
		s := cache.Stats().Sub(before)
		if s[stats.DiskPuts]+s[stats.DiskPutsBettered]+s[stats.DiskPutsExisting] > 0 {
			return nil
		}
		if n := s[stats.CapturesDropped] + s[stats.DiskPutsDropped] + s[stats.DiskPutFailures]; n > 0 {
			return errors.New("compiled, but it could not be stored")
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late:
			return fmt.Errorf("compiled, but it was not stored within %v", captureWait)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Pick returns the device of all that a choice means: its number, or the one whose title
// contains it, upper and lower case being the same; the first one for none.
func Pick(all []tool.Device, choice string) (d tool.Device, err error) {
	if n, err := strconv.Atoi(cmp.Or(choice, "0")); err == nil && n >= 0 && n < len(all) {
		return all[n], nil
	}
	var found []tool.Device
	here := ""
	for i, d := range all {
		if strings.Contains(strings.ToLower(d.Title), strings.ToLower(choice)) {
			found = append(found, d)
		}
		here += fmt.Sprintf("\n  %d  %s", i, human.Printable(d.Title, false))
	}
	why := "more than one is called so"
	switch _, err := strconv.Atoi(choice); {
	case err == nil:
		why = "there is no such number"
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0:
		why = "none is called so"
	}
	return d, cli.Usagef("--device %s: %s; here are:%s", choice, why, here)
}
