//go:build cgo

package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/cbuild"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/key"
)

// goHit returns what the same hit costs in Go: an image of the bytes that the
// lookup "hit" of host.c has for a key, found in memory, used and released.
func goHit(t *testing.T) time.Duration {
	t.Helper()
	cache, err := kernstash.Open(kernstash.Options{Dir: filepath.Join(t.TempDir(), "root")})
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close()
	x := kernstash.NewContext(cache, kernstash.Compiler{
		Device:  key.Device{API: "test", Platform: "platform", Name: "device", Version: "1", Driver: "1.0"},
		Compile: func(context.Context, *key.Recipe) ([]byte, error) { return []byte("quick"), nil },
	}, kernstash.ContextOptions{})
	const options = "-cl-mad-enable -DN=16"
	var bits [8]byte
	binary.LittleEndian.PutUint64(bits[:], 4)
	items := func(pieces ...string) string {
		var b strings.Builder
		for _, p := range pieces {
			b.WriteString(p[:1])
			_ = binary.Write(&b, binary.LittleEndian, uint64(len(p)-1))
			b.WriteString(p[1:])
		}
		return b.String()
	}
	program, material := items("phit"), items("llib", "v1")
	variants := items("i"+string(bits[:]), "trow major", "o"+options)
	hit := func() {
		code := append(make([]byte, 0, 256), magic...)
		for _, p := range []string{program, "", material, variants} {
			code = append(binary.LittleEndian.AppendUint64(code, uint64(len(p))), p...)
		}
		image, err := kernstash.NewImage(key.Opaque, code)
		if err != nil {
			t.Fatal(err)
		}
		p, err := x.Program(t.Context(), kernstash.Request{Image: image, CompileOptions: options})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Native(0); err != nil {
			t.Fatal(err)
		}
		p.Release()
	}
	best := time.Hour
	for range 10 {
		const times = 300
		start := time.Now()
		for range times {
			hit()
		}
		best = min(best, time.Since(start)/times)
	}
	return best
}

// What the way through C costs: a hit in memory, beside the same in Go; a hit on
// disk; a call that only counts.
func TestTimingOfCalls(t *testing.T) {
	timing.Only(t)
	h := newHost(t, cbuild.Library(t).Compile(t, parts, "-O2"))
	var lookup, hit, found, counter float64
	var inGo time.Duration
	// Two entries into Go, of which each holds signals back and lets them go again
	// (two system calls): 1.1 µs on two cores of an AMD EPYC. On a slower machine the bar is twice
	// two such calls of a library of Go with nothing in it (docs/decisions/193-bars-of-a-machine.md).
	bare, call := cbuild.NewBare(t), time.Hour
	most := func() float64 { return max(1500, 2*2*float64(call.Nanoseconds())) }
	// The two are measured in turn, and the fastest count: another process may take the CPU.
	for round := range 10 {
		if round >= 3 && hit <= float64(inGo.Nanoseconds())+most() {
			break
		}
		var l, a, f, c float64
		if _, err := fmt.Sscanf(h.run("costs"), "lookup %f\nhit %f\nfound %f\ncounter %f\n", &l, &a, &f, &c); err != nil {
			t.Fatal(err)
		}
		g := goHit(t)
		if hit == 0 || a < hit {
			lookup, hit, found, counter = l, a, f, c
		}
		if _, c := bare.Opened(t); c < call {
			call = c
		}
		if inGo == 0 || g < inGo {
			inGo = g
		}
	}
	own := float64(inGo.Nanoseconds())
	t.Logf("get-or-build hit: %.0f ns through C (%.0f of them C's own), %.0f ns in Go: %.2f times, %+.0f ns", hit, lookup, own, hit/own, hit-own)
	t.Logf("found on disk, 50 KB: %.1f µs; one counter: %.0f ns", found/1e3, counter)
	t.Logf("a bare call into Go that holds signals back: %d ns", call.Nanoseconds())
	if hit > own+most() {
		t.Errorf("a hit through C takes %.0f ns more than in Go, at most %.0f", hit-own, most())
	}
}
