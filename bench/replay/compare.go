package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/kernstash/kernstash/store/disk"
)

// recorded is what record.sh recorded of the kernels of hashcat on PoCL, gaps
// stretched so that it lasts some days.
//
//go:embed traces/hashcat.csv
var recorded []byte

// namedTrace is a trace with what is said about it.
type namedTrace struct {
	Name, Title string
	requests    []request
}

// loadTraces returns the trace of a file, or all that are built in.
func loadTraces(path string) ([]namedTrace, error) {
	if path != "" {
		trace, err := openTrace(path)
		name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		return []namedTrace{{name, path, trace}}, err
	}
	base, err := readTrace(bytes.NewReader(recorded))
	if err != nil {
		return nil, fmt.Errorf("traces/hashcat.csv: %w", err)
	}
	all := []namedTrace{{"hashcat", "Recorded: sessions of a password recovery tool", base}}
	for i, s := range scenarios {
		g := newGenerator(uint64(i+1), samples(base))
		s.make(g)
		all = append(all, namedTrace{s.name, s.title, g.end()})
	}
	return all, nil
}

// fractions are the limits, as shares of the bytes of all artifacts of a trace.
var fractions = []float64{0.05, 0.1, 0.2, 0.35, 0.5, 0.75}

// report is what was found; -json writes it.
type report struct {
	Traces []traceReport `json:"traces"`
}

type traceReport struct {
	Name     string        `json:"name"`
	Title    string        `json:"title"`
	Requests int           `json:"requests"`
	Keys     int           `json:"keys"`
	Bytes    int64         `json:"bytes"` // of all artifacts
	Cost     time.Duration `json:"cost_ns"`
	Days     float64       `json:"days"`
	Limits   []limitReport `json:"limits"`
	all      int64         // bytes of all requests
}

type limitReport struct {
	Fraction float64        `json:"fraction"`
	Limit    int64          `json:"limit"`
	Policies []policyReport `json:"policies"`
}

// policyReport has shares of all requests, of their bytes, of their cost.
type policyReport struct {
	Name     string  `json:"name"`
	HitRate  float64 `json:"hit_rate"`
	ByteRate float64 `json:"byte_hit_rate"`
	Saved    float64 `json:"saved"` // of the time that building at every request takes
	Hours    float64 `json:"hours_saved"`
	Evicted  int     `json:"evicted"`
}

// boundName is the line that no policy can exceed.
const boundName = "no policy can exceed"

// compare replays all traces under all limits. real also replays against
// store/disk, at one of the limits, and fails where it does not do what the
// simulation says.
func compare(ctx context.Context, traces []namedTrace, real bool) (*report, error) {
	out := &report{Traces: make([]traceReport, len(traces))}
	for i, t := range traces {
		s := shapeOf(t.requests)
		r := traceReport{
			Name: t.Name, Title: t.Title, Requests: s.requests, Keys: s.keys, Bytes: s.bytes, Cost: s.cost,
			Days: t.requests[len(t.requests)-1].at.Hours() / 24, Limits: make([]limitReport, len(fractions)),
		}
		for _, q := range t.requests {
			r.all += q.bytes
		}
		var all sync.WaitGroup
		for j, f := range fractions {
			all.Go(func() { r.Limits[j] = r.limit(t.requests, f) })
		}
		all.Wait()
		out.Traces[i] = r
		if real {
			if err := checkReal(ctx, t.requests); err != nil {
				return nil, fmt.Errorf("%s: %w", t.Name, err)
			}
		}
	}
	return out, nil
}

func (r *traceReport) limit(trace []request, fraction float64) limitReport {
	l := limitReport{Fraction: fraction, Limit: int64(fraction * float64(r.Bytes))}
	add := func(name string, hits, bytes, saved float64, evicted int) {
		l.Policies = append(l.Policies, policyReport{
			Name: name, HitRate: hits / float64(r.Requests), ByteRate: bytes / float64(r.all), Saved: saved / float64(r.Cost),
			Hours: saved / float64(time.Hour), Evicted: evicted,
		})
	}
	for _, p := range policies {
		o := simulate(trace, p, l.Limit)
		add(p.name, float64(o.Hits), float64(o.HitBytes), float64(o.Saved), o.Evicted)
	}
	add(boundName,
		bound(trace, l.Limit, func(request) float64 { return 1 }),
		bound(trace, l.Limit, func(q request) float64 { return float64(q.bytes) }),
		bound(trace, l.Limit, func(q request) float64 { return float64(q.cost) }), 0)
	return l
}

// realRequests is how many requests of a trace are replayed against store/disk.
const realRequests = 1000

// checkReal compares a simulation with the real store, on the beginning of a
// trace.
func checkReal(ctx context.Context, trace []request) error {
	trace = realistic(trace[:min(len(trace), realRequests)])
	limit := int64(tableAt * float64(shapeOf(trace).bytes))
	for _, p := range []disk.Policy{disk.Cost, disk.LRU} {
		if err := agree(ctx, trace, p, limit); err != nil {
			return err
		}
	}
	return nil
}

// agreeTries is how often the real store may differ. Its evictor runs beside
// the put that woke it: if that put's own entry is the first to go, it is spared
// where its writer still has it locked, which is so once in some thousand puts.
const agreeTries = 6

// agree replays against the real store, which must do what the simulation says.
func agree(ctx context.Context, trace []request, p disk.Policy, limit int64) error {
	want := simulate(trace, named(p.String()), limit)
	var got outcome
	for range agreeTries {
		var err error
		if got, err = replay(ctx, trace, p, limit); err != nil || got == want || want.Grouped && near(got, want) {
			return err
		}
	}
	return fmt.Errorf("%v: store/disk achieved %+v, the simulation says %+v", p, got, want)
}

// near reports whether two outcomes differ by chance only: groups are trimmed in random
// order.
func near(a, b outcome) bool {
	differ := func(x, y float64) bool { return math.Abs(x-y) > 0.03*y }
	return !differ(float64(a.Hits), float64(b.Hits)) && !differ(float64(a.Saved), float64(b.Saved)) &&
		!differ(float64(a.Evicted), float64(b.Evicted))
}

func named(name string) policy {
	for _, p := range policies {
		if p.name == name {
			return p
		}
	}
	panic("no policy " + name)
}

// print writes tables for people: seconds saved and hits at each limit.
func (r *report) print(w io.Writer) {
	for _, t := range r.Traces {
		fmt.Fprintf(w, "%s: %s\n%d requests in %.0f days for %d artifacts of %s; building each time: %.1f hours\n", t.Name, t.Title,
			t.Requests, t.Days, t.Keys, megabytes(t.Bytes), t.Cost.Hours())
		for _, metric := range metrics {
			fmt.Fprintf(w, "  %-32s", metric.name+", % at")
			for _, l := range t.Limits {
				fmt.Fprintf(w, "%7.0f%%", 100*l.Fraction)
			}
			fmt.Fprintln(w)
			for p := range t.Limits[0].Policies {
				fmt.Fprintf(w, "    %-30s", t.Limits[0].Policies[p].Name)
				for _, l := range t.Limits {
					fmt.Fprintf(w, "%8.1f", 100*metric.of(l.Policies[p]))
				}
				fmt.Fprintln(w)
			}
		}
		fmt.Fprintln(w)
	}
}

var metrics = []struct {
	name string
	of   func(policyReport) float64
}{
	{"build time saved", func(p policyReport) float64 { return p.Saved }},
	{"hits", func(p policyReport) float64 { return p.HitRate }},
	{"bytes hit", func(p policyReport) float64 { return p.ByteRate }},
}
