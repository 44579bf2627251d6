package engine

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// What is counted, traced and told of a request is written here, and nowhere else.

// Origin says where a program came from.
type Origin uint8

// The origins.
const (
	Compiled Origin = 1 // built by the driver's compiler
	Disk     Origin = 2 // loaded from an artifact
	Memory   Origin = 3 // loaded from what was just built for another request; see SessionOptions.Share
)

// Decision is what became of one group of equal devices.
type Decision struct {
	Key     key.Key     // zero where it cannot be cached
	Recipe  *key.Recipe // not to be kept
	Devices []int
	Size    int64 // bytes of the device image

	Origin   Origin // zero: it failed
	Err      error  // why it failed
	Reason   string // of Compiled, and where it failed: why it was not restored
	Nearest  string // of Compiled: what the nearest entry differs in; "" where that was not looked for
	Observed string // mode observe: "equal", "different" or "incomparable", of an entry that was there

	Spent   time.Duration // loading or compiling
	Cost    time.Duration // of what was compiled: see [Group.Cost]; zero: Spent
	Waited  time.Duration // before that, for somebody else who compiled it
	Ended   time.Time     // when Spent was over; zero: now
	Saved   time.Duration // of Disk: the recorded cost of the build, less Spent
	Bytes   int64         // of Disk: of the artifact
	Layer   string        // of Disk: the directory of the read-only layer, or the name of the remote, that had it
	Kernels []string      // as far as known
}

// AtOnce is the Reason of what was built while another thread of the process built it.
const AtOnce = "another thread was building it"

// Label names the program for people: by its kernels, else by the size of its device image.
func (d *Decision) Label() string { return human.Label(d.Kernels, d.Size) }

func (e *Engine) count(c stats.Counter) { e.stats.Add(c, 1) }

// countHit counts an artifact that was loaded.
func (e *Engine) countHit(k key.Key, a *store.Artifact, took time.Duration) {
	e.count(stats.DiskHits)
	e.stats.Add(stats.LoadTime, int64(took))
	e.stats.Add(stats.SavedTime, int64(a.Cost-took))
	e.log.Disk.Debug("hit", "key", k.Short(), "bytes", a.Size(), "load", took, "saved", a.Cost-took)
}

// countMiss counts a miss with its reason. The store counts what it finds damaged.
func (e *Engine) countMiss(why reason.Reason) {
	e.count(stats.DiskMisses)
	e.count(stats.Of(why))
	if why == reason.MissRefused {
		e.count(stats.Corrupt)
	}
}

func (e *Engine) countUncacheable(why reason.Uncacheable) {
	e.count(stats.Of(why.Code))
	e.log.Disk.Info(why.String())
}

func (e *Engine) countBuild(took time.Duration) {
	e.count(stats.Builds)
	e.stats.Add(stats.BuildTime, int64(took))
}

// countCompared counts what comparing with a stored artifact said.
func (e *Engine) countCompared(k key.Key, program string, v verdict) {
	switch v {
	case equal:
		e.count(stats.ObserveEqual)
	case different:
		e.count(stats.ObserveDifferent)
	}
	e.log.Disk.Info("observed", "key", k.Short(), "program", program, "verdict", string(v))
}

// traceKey tells what a key is made of.
func (e *Engine) traceKey(k key.Key, r *key.Recipe) {
	if !e.log.Keys.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	e.log.Keys.Debug("key", "key", k.Short(), "device", k.Device.Dir(), "image", k.Image.Dir(),
		"constants", k.Constants.Dir(), "options", k.Options.Dir(),
		"compile", r.Options.CompileString(), "link", r.Options.LinkString(),
		"variables", fmt.Sprint(r.Options.Variables), "attributes", fmt.Sprint(r.Options.Attributes))
}

func kernelNames(a *store.Artifact) []string {
	if a == nil {
		return nil
	}
	names := make([]string, len(a.Kernels))
	for i, k := range a.Kernels {
		names[i] = k.Name
	}
	return names
}

// verdict is what comparing two artifacts of one key says.
type verdict string

const (
	equal        verdict = "equal"
	different    verdict = "different"
	incomparable verdict = "incomparable"
)

// compare compares the forms that two artifacts have in common. Those of a driver that
// makes code at launches say something only if they are ready for the same launches.
func compare(a, b *store.Artifact) verdict {
	v := incomparable
	for _, one := range a.Binaries {
		for _, other := range b.Binaries {
			if one.Form != other.Form || one.Form == store.FormDeferred && !slices.Equal(a.Variants, b.Variants) {
				continue
			}
			if !bytes.Equal(one.Data, other.Data) {
				return different
			}
			v = equal
		}
	}
	return v
}
