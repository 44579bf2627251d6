//go:build linux

package kernstash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/faultfs"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
)

// faultyLife is an application that starts several times on one root while the
// calls of the disk tier fail as a plan says.
type faultyLife struct {
	t    *testing.T
	name string
	root string
	plan *faultfs.Plan
	ways safefs.Options
}

func newFaultyLife(t *testing.T, name string, plan *faultfs.Plan, ways safefs.Options) *faultyLife {
	dir, err := os.MkdirTemp(quickDir(), "kernstash-fault-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	ways.Hook = plan.Hook()
	return &faultyLife{t, name, filepath.Join(dir, "root"), plan, ways}
}

// quickDir is a directory in memory, where there is one.
func quickDir() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return os.TempDir()
}

func (l *faultyLife) errorf(format string, args ...any) {
	l.t.Helper()
	hits := l.plan.Hits()
	l.t.Errorf("%s: %s; faults %v", l.name, fmt.Sprintf(format, args...), hits[:min(len(hits), 5)])
}

// start is one life of the application. All its programs build, whatever
// fails; what the fake loads is compared with its source.
func (l *faultyLife) start(deferred bool, sources ...int) {
	t := l.t
	t.Helper()
	f := newFake(t)
	f.deferred = deferred
	f.size = 1000
	f.build = func(_ context.Context, job Job) error {
		if strings.Contains(string(job.Recipe.Image.Units()[0].Code), "k13(") {
			return &BuildError{Code: 1}
		}
		return nil
	}
	c, err := openOn(func(o disk.Options) cache.Disk { return disk.New(o.WithFiles(l.ways)) }, Options{
		Dir: l.root, ConfigFile: emptyConfig(t), MaxSize: 120_000, Flags: map[string]string{"capture-quiet": "1ms"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	x := fakeContextOn(c, f)
	for _, i := range sources {
		p, err := x.Program(t.Context(), Request{Image: image(t, src(i))})
		var failed *BuildError
		switch {
		case i == 13 && !errors.As(err, &failed):
			l.errorf("source 13: %v, want its diagnostic", err)
		case i != 13 && err != nil:
			l.errorf("source %d: %v", i, err)
		}
		if err != nil {
			continue
		}
		if native, err := p.Native(0); err != nil || native.code != src(i) {
			l.errorf("source %d: %v", i, err)
		}
		if deferred {
			p.Launched(0, "k 8")
		}
		p.Release()
	}
	if err := c.Close(); err != nil {
		l.errorf("close: %v", err)
	}
	builds, _, live, _ := f.counts()
	if live > 0 {
		l.errorf("%d programs are live", live)
	}
	l.reasons(c.Stats(), int64(len(sources)), int64(builds))
}

// reasons checks that every request that was not answered by the disk tier has
// one counted reason, and every program that was built one end.
func (l *faultyLife) reasons(s stats.Snapshot, requests, builds int64) {
	l.t.Helper()
	var reasons int64
	for r := reason.MissAbsent; r <= reason.MissRefused; r++ {
		reasons += s[stats.Of(r)]
	}
	if s[stats.DiskHits]+s[stats.DiskMisses] != requests || reasons != s[stats.DiskMisses] || builds != s[stats.DiskMisses] {
		l.errorf("%d requests: %d hits, %d misses with %d reasons, %d builds", requests, s[stats.DiskHits], s[stats.DiskMisses], reasons, builds)
	}
	ends := s[stats.DiskPuts] + s[stats.DiskPutsBettered] + s[stats.DiskPutsExisting] + s[stats.DiskPutsDropped] +
		s[stats.DiskPutFailures] + s[stats.CapturesDropped]
	if ends != builds-s[stats.BuildFailures] {
		l.errorf("%d builds of which %d failed: %d ends", builds, s[stats.BuildFailures], ends)
	}
}

func (l *faultyLife) live() {
	l.start(false, 1, 2, 13, 3)
	l.start(false, 1, 2, 4)
	l.start(true, 5, 6)
	l.start(true, 5, 6, 7, 8, 9)
	l.start(false, 1, 2, 3, 4)
}

// end looks at what is left.
func (l *faultyLife) end() {
	l.t.Helper()
	s := disk.New(disk.Options{Dir: l.root})
	r, err := s.Verify(context.Background(), false, nil)
	if err != nil || r.Damaged > 0 {
		l.errorf("verify: %+v, %v", r, err)
	}
	if err := s.Close(); err != nil {
		l.errorf("close: %v", err)
	}
	if open := openBelow(l.t, l.root); len(open) > 0 {
		l.errorf("open still: %q", open)
	}
}

// openBelow returns what this process has open below a directory.
func openBelow(t *testing.T, dir string) (open []string) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(to, dir) {
			open = append(open, to)
		}
	}
	return open
}

var faultyWays = map[string]safefs.Options{"fast": {}, "slow": {NoOpenat2: true, NoTmpfile: true}}

// long reports whether tests that repeat one thread's life with each fault, or with many seeds,
// take their long forms. The race detector finds nothing more in those than in the short forms.
func long() bool { return timing.IsLong() && !raceEnabled }

// TestNoFaultFailsABuild: whichever call of the disk tier fails, and how,
// every program builds, none is another's, and each miss has a reason.
func TestNoFaultFailsABuild(t *testing.T) {
	t.Parallel()
	long := long()
	for way, o := range faultyWays {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			l := newFaultyLife(t, "no fault", faultfs.New(), o)
			l.live()
			l.end()
			calls := l.plan.Calls()
			if len(calls) < 300 {
				t.Fatalf("%d calls: a poor life", len(calls))
			}
			for i, op := range calls {
				kinds := slices.DeleteFunc(faultfs.Kinds(), func(k faultfs.Kind) bool {
					return k.Ops != nil && !slices.Contains(k.Ops, op)
				})
				for j, k := range kinds {
					for _, sticky := range []bool{false, true} {
						if !long && (i%61 != 0 || (i/61+j)%len(kinds) != 0 || sticky != (i%2 == 0)) || long && (i+j)%8 != 0 {
							continue
						}
						rule := faultfs.Rule{Nth: i + 1, Sticky: sticky, Fault: k.Fault}
						if sticky {
							rule.Ops = k.Ops
						}
						name := fmt.Sprintf("call %d (%s) answers %s, sticky %v", i+1, op, k.Name, sticky)
						t.Run(name, func(t *testing.T) { // which lets go of what it made
							l := newFaultyLife(t, name, faultfs.New(rule), o)
							l.live()
							l.end()
						})
					}
				}
			}
			t.Logf("%d calls", len(calls))
		})
	}
}

// TestNoRandomFaultFailsABuild is the same with faults at random, by a seed.
func TestNoRandomFaultFailsABuild(t *testing.T) {
	t.Parallel()
	seeds := 10
	if long() {
		seeds = 150
	}
	for seed := range seeds {
		rnd := rand.New(rand.NewPCG(uint64(seed), 2))
		var rules []faultfs.Rule
		for _, k := range faultfs.Kinds() {
			if rnd.IntN(3) == 0 {
				rules = append(rules, faultfs.Rule{Ops: k.Ops, Chance: []float64{0.002, 0.02, 0.1, 0.5}[rnd.IntN(4)], Fault: k.Fault})
			}
		}
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			l := newFaultyLife(t, t.Name(), faultfs.Random(uint64(seed), rules...), faultyWays[[]string{"fast", "slow"}[seed%2]])
			for range 2 {
				l.live()
			}
			l.plan.Stop()
			l.end()
		})
	}
}
