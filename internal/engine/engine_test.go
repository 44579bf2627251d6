package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// fakeHost answers as it is told. A question that is in refused fails the test.
type fakeHost struct {
	t         testing.TB
	devices   []key.Device
	variables []key.Pair
	search    *deps.Search // nil: not known
	dir       string
	delivery  Delivery
	rounding  bool // arithmetic is in another mode

	identifyErr, variablesErr, optionsErr, dirErr error

	mu      sync.Mutex
	asked   map[string]int
	refused []string
}

func newHost(t testing.TB) *fakeHost {
	return &fakeHost{
		t: t, dir: "/", asked: make(map[string]int),
		devices: []key.Device{{API: "fake", Platform: "P", Name: "N", Version: "1", Driver: "1"}},
	}
}

func (h *fakeHost) ask(question string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked[question]++
	if slices.Contains(h.refused, question) {
		h.t.Errorf("the host is asked for %s", question)
	}
}

func (h *fakeHost) count(question string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked[question]
}

func (h *fakeHost) Devices() int { return len(h.devices) }

func (h *fakeHost) Identify(_ context.Context, d int) (key.Device, error) {
	h.ask("identity")
	return h.devices[d], h.identifyErr
}

func (h *fakeHost) Variables(int) ([]key.Pair, error) {
	h.ask("variables")
	return h.variables, h.variablesErr
}

func (h *fakeHost) CheckOptions(int, []string) error { h.ask("options"); return h.optionsErr }

func (h *fakeHost) HeaderSearch(int, string, Request) (deps.Search, error) {
	h.ask("search")
	if h.search == nil {
		return deps.Search{}, errors.New("the fake does not say where it looks")
	}
	return *h.search, nil
}

func (h *fakeHost) WorkingDirectory() (string, error) { h.ask("directory"); return h.dir, h.dirErr }
func (h *fakeHost) DefaultArithmetic() bool           { h.ask("arithmetic"); return !h.rounding }
func (h *fakeHost) Delivery(Job) Delivery             { h.ask("delivery"); return h.delivery }

// run is an engine on a store of its own, as of one process.
type run struct {
	*Engine
	t        testing.TB
	counters *stats.Counters
	store    store.Store
	decided  []Decision
	mu       sync.Mutex
}

func newRoot(t testing.TB) string { return filepath.Join(t.TempDir(), "root") }

// start returns an engine on a root, as a new process would have; "" is no store.
func start(t testing.TB, root, mode string, change ...func(*settings.Settings)) *run {
	t.Helper()
	return startOn(t, root, mode, func(d *disk.Store) kept { return d }, change...)
}

// kept is a store of entries and blobs.
type kept interface {
	store.Store
	store.Blobs
}

// startOn is start with another store over that of the root.
func startOn(t testing.TB, root, mode string, over func(*disk.Store) kept, change ...func(*settings.Settings)) *run {
	t.Helper()
	config := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(config, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := settings.Load(settings.Inputs{Environ: []string{"HOME=/nonexistent"}, ConfigFile: config, Flags: map[string]string{"mode": mode}})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(set)
	}
	r := &run{t: t, counters: new(stats.Counters)}
	o := Options{Settings: set, Recorder: r.counters}
	if root != "" {
		d := disk.New(disk.Options{Dir: root, Recorder: r.counters, ReadOnly: mode == settings.ModeReadOnly})
		t.Cleanup(func() { _ = d.Close() })
		r.store, o.Store = d, over(d)
		o.Blobs = o.Store.(store.Blobs)
	}
	r.Engine = New(o)
	t.Cleanup(r.finish)
	return r
}

// finish stores what is to be stored.
func (r *run) finish() {
	if !r.Flush(time.Now().Add(time.Minute)) {
		r.t.Error("not everything was stored within a minute")
	}
	if dropped := r.Close(time.Now().Add(time.Minute)); dropped > 0 {
		r.t.Errorf("%d artifacts were dropped", dropped)
	}
}

func (r *run) session(h Host) *Session {
	return r.Session(h, SessionOptions{Decided: func(d Decision) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.decided = append(r.decided, d)
	}})
}

func (r *run) want(want map[stats.Counter]int64) {
	r.t.Helper()
	got := r.counters.Snapshot()
	for c, n := range want {
		if got[c] != n {
			r.t.Errorf("%v = %d, want %d", c, got[c], n)
		}
	}
}

func (r *run) wantDecision(i int, f func(Decision) string) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if i >= len(r.decided) {
		r.t.Errorf("%d decisions, want more than %d", len(r.decided), i)
	} else if wrong := f(r.decided[i]); wrong != "" {
		r.t.Errorf("decision %d: %s: %+v", i, wrong, r.decided[i])
	}
}

func source(t testing.TB, code string) *Image {
	t.Helper()
	img, err := key.NewImage(key.OpenCLC, []byte(code))
	if err != nil {
		t.Fatal(err)
	}
	return NewImage(img)
}

func artifact(code string) *store.Artifact {
	return &store.Artifact{
		Binaries: []store.Binary{{Form: store.FormFinal, Data: []byte("binary of " + code)}},
		Kernels:  []store.Kernel{{Name: "k"}},
	}
}

func begin(t testing.TB, s *Session, r Request) *Transaction {
	t.Helper()
	tx, err := s.Begin(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tx.Abandon)
	return tx
}

func wantStep(t testing.TB, g *Group, want Kind) Step {
	t.Helper()
	step := g.Next(t.Context())
	if step.Kind != want {
		t.Fatalf("the step is %v, want %v", step.Kind, want)
	}
	if again := g.Next(t.Context()); again.Kind != want || again.Artifact != step.Artifact {
		t.Fatalf("the step is %v, and %v when it is asked for again", step.Kind, again.Kind)
	}
	return step
}

// await waits for somebody else's build; it may have ended.
func await(t testing.TB, g *Group) {
	t.Helper()
	if step := g.Next(t.Context()); step.Kind == Wait {
		<-step.Ready
	}
}

// buildOnce has one group built.
func buildOnce(t testing.TB, s *Session, r Request, code string) {
	t.Helper()
	g := begin(t, s, r).Group(0)
	wantStep(t, g, Build)
	g.Built(Outcome{Artifact: artifact(code), Took: time.Second})
	wantStep(t, g, Ended)
}

const k1 = "kernel void k1() {}"

func TestBuildThenHit(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	r := Request{Image: source(t, k1), CompileOptions: "-DN=4"}
	first := start(t, root, "on")
	buildOnce(t, first.session(newHost(t)), r, k1)
	first.finish()
	first.want(map[stats.Counter]int64{
		stats.DiskMisses: 1, stats.Of(reason.MissAbsent): 1, stats.Of(reason.NearestNothing): 1,
		stats.Builds: 1, stats.BuildTime: int64(time.Second), stats.DiskPuts: 1, stats.DiskHits: 0,
	})
	first.wantDecision(0, func(d Decision) string {
		if d.Origin != Compiled || d.Reason != "miss.absent" || d.Nearest == "" || d.Spent != time.Second || d.Key.IsZero() {
			return "want a miss that is explained"
		}
		return ""
	})

	second := start(t, root, "on")
	g := begin(t, second.session(newHost(t)), r).Group(0)
	step := wantStep(t, g, Hit)
	if got := string(step.Artifact.Binaries[0].Data); got != "binary of "+k1 {
		t.Errorf("the artifact is %q", got)
	}
	g.Loaded(100 * time.Millisecond)
	wantStep(t, g, Ended)
	g.Loaded(time.Hour) // not answered twice
	second.want(map[stats.Counter]int64{
		stats.DiskHits: 1, stats.DiskMisses: 0, stats.Builds: 0,
		stats.LoadTime: int64(100 * time.Millisecond), stats.SavedTime: int64(900 * time.Millisecond),
	})
	second.wantDecision(0, func(d Decision) string {
		if d.Origin != Disk || d.Saved != 900*time.Millisecond || !slices.Equal(d.Kernels, []string{"k"}) {
			return "want a hit"
		}
		return ""
	})
}

// An entry that the driver refuses goes, and the next build replaces it.
func TestRejected(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	r := Request{Image: source(t, k1)}
	first := start(t, root, "on")
	buildOnce(t, first.session(newHost(t)), r, "bad")
	first.finish()

	second := start(t, root, "on")
	g := begin(t, second.session(newHost(t)), r).Group(0)
	wantStep(t, g, Hit)
	g.Rejected(t.Context(), errors.New("no"))
	if wantStep(t, g, Build); g.missed != reason.MissRefused {
		t.Errorf("it missed for %v", g.missed)
	}
	g.Built(Outcome{Artifact: artifact("good"), Took: time.Second})
	second.finish()
	second.want(map[stats.Counter]int64{
		stats.DiskHits: 0, stats.DiskMisses: 1, stats.Of(reason.MissRefused): 1, stats.Corrupt: 1, stats.DiskPuts: 1,
	})

	third := start(t, root, "on")
	step := wantStep(t, begin(t, third.session(newHost(t)), r).Group(0), Hit)
	if got := string(step.Artifact.Binaries[0].Data); got != "binary of good" {
		t.Errorf("the artifact is %q", got)
	}
}

func TestFailed(t *testing.T) {
	t.Parallel()
	run := start(t, newRoot(t), "on")
	s := run.session(newHost(t))
	g := begin(t, s, Request{Image: source(t, k1)}).Group(0)
	wantStep(t, g, Build)
	failed := errors.New("it is wrong")
	g.Failed(failed, time.Second)
	wantStep(t, g, Ended)
	run.want(map[stats.Counter]int64{stats.Builds: 1, stats.BuildFailures: 1})
	run.wantDecision(0, func(d Decision) string {
		if !errors.Is(d.Err, failed) || d.Origin != 0 {
			return "want the failure"
		}
		return ""
	})
	// Nothing is locked and nothing stored.
	wantStep(t, begin(t, s, Request{Image: source(t, k1)}).Group(0), Build)
}

// Who asks for what is being built waits, and then finds it.
func TestWaitThenHit(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	run, other := start(t, root, "on"), start(t, root, "on")
	r := Request{Image: source(t, k1)}
	g := begin(t, run.session(newHost(t)), r).Group(0)
	wantStep(t, g, Build)
	var waiting []*Group
	for _, s := range []*Session{run.session(newHost(t)), other.session(newHost(t))} { // of the same engine, and of another
		waiter := begin(t, s, Request{Image: source(t, k1)}).Group(0)
		step := wantStep(t, waiter, Wait)
		select {
		case <-step.Ready:
			t.Error("a wait ends before the build")
		default:
		}
		waiting = append(waiting, waiter)
	}
	g.Built(Outcome{Artifact: artifact(k1), Took: time.Second})
	for _, waiter := range waiting {
		await(t, waiter)
		wantStep(t, waiter, Hit)
		waiter.Loaded(time.Millisecond)
	}
	for _, e := range []*run2{{run, 1}, {other, 0}} {
		e.run.want(map[stats.Counter]int64{stats.DiskWaits: 1, stats.DiskHits: 1, stats.Builds: e.builds, stats.DiskMisses: e.builds})
	}
	other.wantDecision(0, func(d Decision) string {
		if d.Origin != Disk || d.Waited <= 0 {
			return "want what was waited for"
		}
		return ""
	})
}

type run2 struct {
	run    *run
	builds int64
}

// Who waits for a build that fails builds, with the lock.
func TestWaitThenBuild(t *testing.T) {
	t.Parallel()
	run := start(t, newRoot(t), "on")
	s := run.session(newHost(t))
	r := Request{Image: source(t, k1)}
	g, waiter, third := begin(t, s, r).Group(0), begin(t, s, r).Group(0), begin(t, s, r).Group(0)
	wantStep(t, g, Build)
	ready := wantStep(t, waiter, Wait).Ready
	g.Failed(errors.New("no"), 0)
	<-ready
	wantStep(t, waiter, Build)
	wantStep(t, third, Wait)
	waiter.Built(Outcome{Artifact: artifact(k1), Took: 1})
	await(t, third)
	wantStep(t, third, Hit)
}

// A transaction that is abandoned in whatever state holds nothing: the next one builds
// at once.
func TestAbandon(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		do   func(t *testing.T, g, holder *Group)
	}{
		{"at once", func(*testing.T, *Group, *Group) {}},
		{"building", func(t *testing.T, g, _ *Group) { wantStep(t, g, Build) }},
		{"built", func(t *testing.T, g, _ *Group) { wantStep(t, g, Build); g.Built(Outcome{}) }},
		{"failed", func(t *testing.T, g, _ *Group) { wantStep(t, g, Build); g.Failed(errors.New("no"), 0) }},
		{"waiting", func(t *testing.T, g, holder *Group) {
			wantStep(t, holder, Build)
			wantStep(t, g, Wait)
		}},
		{"waited", func(t *testing.T, g, holder *Group) {
			wantStep(t, holder, Build)
			ready := wantStep(t, g, Wait).Ready
			holder.Abandon()
			<-ready
		}},
		{"built and looked again", func(t *testing.T, g, holder *Group) {
			wantStep(t, holder, Build)
			ready := wantStep(t, g, Wait).Ready
			holder.Abandon()
			<-ready
			wantStep(t, g, Build)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			run := start(t, newRoot(t), "on")
			s := run.session(newHost(t))
			r := Request{Image: source(t, k1)}
			tx, holder := begin(t, s, r), begin(t, s, r).Group(0)
			tt.do(t, tx.Group(0), holder)
			tx.Abandon()
			tx.Abandon()
			wantStep(t, tx.Group(0), Ended)
			holder.Abandon()
			run.finish()
			unlock, err := run.store.(store.Locker).Lock(t.Context(), tx.Group(0).Job().Key, time.Minute)
			if err != nil {
				t.Fatalf("the lock is held: %v", err)
			}
			unlock()
			if all := files(t, run.store.(*disk.Store).Dir(), ".src"); len(all) > 0 {
				t.Errorf("something is left: %q", all)
			}
		})
	}
}

// files returns the files below a root whose names end so.
func files(t testing.TB, root, suffix string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, suffix) {
			all = append(all, path)
		}
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return all
}

// TestModes: what each mode asks, serves and stores, of a root with one entry.
func TestModes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		mode    string
		steps   [2]Kind // for what is there, and for what is not
		entries int     // in the end
		want    map[stats.Counter]int64
	}{
		{"on", [2]Kind{Hit, Build}, 2, map[stats.Counter]int64{stats.DiskHits: 1, stats.DiskMisses: 1, stats.DiskPuts: 1}},
		{"read-only", [2]Kind{Hit, Bypass}, 1, map[stats.Counter]int64{stats.DiskHits: 1, stats.Of(reason.MissAbsent): 1, stats.DiskPuts: 0}},
		{"refresh", [2]Kind{Build, Build}, 2, map[stats.Counter]int64{stats.Of(reason.MissRefresh): 2, stats.DiskPuts: 2, stats.DiskBytesRead: 0}},
		{"observe", [2]Kind{Build, Build}, 2, map[stats.Counter]int64{
			stats.Of(reason.ObserveHits): 1, stats.ObserveDifferent: 1, stats.ObserveEqual: 0, stats.Of(reason.MissAbsent): 1, stats.DiskPuts: 1,
		}},
	} {
		t.Run(tt.mode, func(t *testing.T) {
			t.Parallel()
			root := newRoot(t)
			known, fresh := Request{Image: source(t, k1)}, Request{Image: source(t, "kernel void k2() {}")}
			first := start(t, root, "on")
			buildOnce(t, first.session(newHost(t)), known, "old")
			first.finish()

			run := start(t, root, tt.mode)
			s := run.session(newHost(t))
			for i, r := range []Request{known, fresh} {
				g := begin(t, s, r).Group(0)
				if wantStep(t, g, tt.steps[i]).Kind == Hit {
					g.Loaded(1)
					continue
				}
				g.Built(Outcome{Artifact: artifact("new"), Took: time.Second})
			}
			run.finish()
			run.want(tt.want)
			if n := len(files(t, root, ".bin")); n != tt.entries {
				t.Errorf("%d entries, want %d", n, tt.entries)
			}
			after := start(t, root, "on")
			step := wantStep(t, begin(t, after.session(newHost(t)), known).Group(0), Hit)
			want := "binary of old"
			if tt.mode == "refresh" {
				want = "binary of new"
			}
			if got := string(step.Artifact.Binaries[0].Data); got != want {
				t.Errorf("afterwards it is %q, want %q", got, want)
			}
		})
	}
}

func TestBypass(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		code   string
		change func(*fakeHost, *settings.Settings)
		noRoot bool
		want   reason.Reason
	}{
		{name: "time", code: "char *s = __TIME__;", want: reason.NotCacheableTime},
		{name: "headers that are not known", code: "#include <a.h>", want: reason.NotCacheableHeaders},
		{name: "no identity", code: k1, change: func(h *fakeHost, _ *settings.Settings) { h.identifyErr = errors.New("x") }, want: reason.NotCacheableRuntime},
		{name: "variables", code: k1, change: func(h *fakeHost, _ *settings.Settings) { h.variablesErr = errors.New("x") }, want: reason.NotCacheableRuntime},
		{name: "options", code: k1, change: func(h *fakeHost, _ *settings.Settings) { h.optionsErr = errors.New("x") }, want: reason.NotCacheableRuntime},
		{name: "arithmetic", code: k1, change: func(h *fakeHost, _ *settings.Settings) { h.rounding = true }, want: reason.NotCacheableRuntime},
		{name: "size", code: k1, change: func(_ *fakeHost, s *settings.Settings) { s.MaxDeviceImageSize = 3 }, want: reason.NotCacheableSize},
		{name: "no store", code: k1, noRoot: true, want: reason.MissTierOff},
		{name: "off", code: k1, noRoot: true, change: func(h *fakeHost, s *settings.Settings) {
			s.Disable, h.refused = true, []string{"identity"}
		}, want: reason.MissTierOff},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root, h := newRoot(t), newHost(t)
			if tt.noRoot {
				root = ""
			}
			run := start(t, root, "on", func(s *settings.Settings) {
				if tt.change != nil {
					tt.change(h, s)
				}
			})
			g := begin(t, run.session(h), Request{Image: source(t, tt.code)}).Group(0)
			wantStep(t, g, Bypass)
			if got := g.Uncacheable().Code; got != tt.want && g.missed != tt.want {
				t.Errorf("for %v and %v, want %v", got, g.missed, tt.want)
			}
			g.Built(Outcome{Artifact: artifact("x"), Took: time.Second})
			run.finish()
			run.want(map[stats.Counter]int64{stats.Of(tt.want): 1, stats.Builds: 1, stats.DiskPuts: 0})
			if root != "" && len(files(t, root, ".bin")) > 0 {
				t.Error("something is stored")
			}
		})
	}
}

// Reasons that turn out when it is built.
func TestNotKept(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		outcome  Outcome
		delivery Delivery
		least    time.Duration
		want     reason.Reason
		says     string
	}{
		{"unfit", Outcome{Artifact: artifact("x"), Took: 1, Unfit: "it is"}, AtBuild, 0, reason.NotCacheableRuntime, "the runtime (it is)"},
		{"no artifact", Outcome{Took: 1}, AtBuild, 0, reason.NotCacheableRuntime, "the runtime (it gave no binary)"},
		{"no binary", Outcome{Artifact: new(store.Artifact), Took: 1}, AtBuild, 0, reason.NotCacheableRuntime, "the runtime (it gave no binary)"},
		{"cheap", Outcome{Artifact: artifact("x"), Took: 1}, AtBuild, time.Second, reason.NotCacheableCheap, "cheap to build (min-build-time is 1s)"},
		{"cheap, at a launch", Outcome{Took: 1}, AtLaunch, time.Second, reason.NotCacheableCheap, "cheap to build (min-build-time is 1s)"},
		{"cheap, elsewhere", Outcome{Took: 1}, Elsewhere, time.Second, reason.NotCacheableCheap, "cheap to build (min-build-time is 1s)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			run := start(t, newRoot(t), "on", func(s *settings.Settings) { s.MinBuildTime = tt.least })
			h := newHost(t)
			h.delivery = tt.delivery
			g := begin(t, run.session(h), Request{Image: source(t, k1)}).Group(0)
			wantStep(t, g, Build)
			if g.Built(tt.outcome) {
				t.Error("it is said to be kept")
			}
			if unfit := tt.outcome.Unfit != ""; unfit != g.Job().Key.IsZero() {
				t.Errorf("its key is %v", g.Job().Key)
			}
			run.finish()
			run.want(map[stats.Counter]int64{stats.Of(tt.want): 1, stats.Builds: 1, stats.DiskPuts: 0, stats.Delegated: 0})
			run.wantDecision(0, func(d Decision) string {
				if d.Reason != "not cacheable: "+tt.says {
					return "want: " + tt.says
				}
				return ""
			})
		})
	}
}

// Devices that are equal are one group, and one that is not has another.
func TestGroups(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	other := h.devices[0]
	other.Driver = "2"
	h.devices = []key.Device{h.devices[0], other, h.devices[0]}
	run := start(t, newRoot(t), "on")
	s := run.session(h)
	img := source(t, k1)
	tx := begin(t, s, Request{Image: img})
	var got []string
	for _, g := range tx.Groups() {
		got = append(got, fmt.Sprint(g.Job().Devices))
	}
	if want := []string{"[0 2]", "[1]"}; !slices.Equal(got, want) {
		t.Errorf("groups %v, want %v", got, want)
	}
	wantStep(t, tx.Group(0), Build)
	tx.Group(0).Built(Outcome{Artifact: artifact("a"), Took: 1})
	run.finish()
	// A part of it is there.
	later := start(t, run.store.(*disk.Store).Dir(), "on")
	tx = begin(t, later.session(h), Request{Image: img, Devices: []int{1, 2}})
	steps := make(map[string]Kind)
	for _, g := range tx.Groups() {
		steps[fmt.Sprint(g.Job().Devices)] = g.Next(t.Context()).Kind
	}
	if steps["[1]"] != Build || steps["[0 2]"] != Hit || len(steps) != 2 {
		t.Errorf("steps %v", steps)
	}
}

// The host is asked each question once for a request, and nothing when an identity is
// worked out or what a live image means is known.
func TestHostIsAskedOnce(t *testing.T) { // not parallel: it counts allocations
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a.h"), "int a;\n")
	h := newHost(t)
	h.search, h.dir = &deps.Search{}, dir
	run := start(t, newRoot(t), "on")
	s := run.session(h)
	r := Request{Image: source(t, "#include \"a.h\"\n"), CompileOptions: "-I" + dir}
	g := begin(t, s, r).Group(0)
	for _, question := range []string{"identity", "variables", "options", "arithmetic"} {
		if n := h.count(question); n != 1 {
			t.Errorf("the host is asked %d times for %s", n, question)
		}
	}
	wantStep(t, g, Build)

	all := []string{"identity", "variables", "options", "arithmetic", "search", "directory", "delivery"}
	h.mu.Lock()
	h.refused = all
	h.mu.Unlock()
	id, err := s.ID(&r)
	if err != nil {
		t.Fatal(err)
	}
	res := s.Resolved(&id, r.Image)
	if res == nil {
		t.Fatal("what the image means is not known")
	}
	if allocs := testing.AllocsPerRun(1000, func() {
		id, _ := s.ID(&r)
		if s.Resolved(&id, r.Image) != res {
			t.Error("another resolution")
		}
	}); allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
	g.Abandon()
	h.mu.Lock()
	h.refused = nil
	h.mu.Unlock()
}

// A host that fails on each question makes a request uncacheable, or is not asked.
func TestHostThatFails(t *testing.T) {
	t.Parallel()
	x := errors.New("the host fails")
	for question, fail := range map[string]func(*fakeHost){
		"identity":  func(h *fakeHost) { h.identifyErr = x },
		"variables": func(h *fakeHost) { h.variablesErr = x },
		"options":   func(h *fakeHost) { h.optionsErr = x },
		"search":    func(h *fakeHost) { h.search = nil },
		"directory": func(h *fakeHost) { h.dirErr = x },
	} {
		t.Run(question, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.search = &deps.Search{}
			fail(h)
			run := start(t, newRoot(t), "on")
			g := begin(t, run.session(h), Request{Image: source(t, "#include <a.h>\n")}).Group(0)
			wantStep(t, g, Bypass)
			if g.Uncacheable().None() || !g.Job().Key.IsZero() {
				t.Errorf("it is cacheable: %v", g.Job().Key)
			}
			g.Abandon()
		})
	}
}

func writeFile(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Header files are found once for an image, watched while it is built, and in the trace.
func TestHeaders(t *testing.T) {
	t.Parallel()
	root, dir := newRoot(t), t.TempDir()
	header := filepath.Join(dir, "a.h")
	writeFile(t, header, "int a;\n")
	h := newHost(t)
	h.search, h.dir = &deps.Search{}, dir
	code := "#include \"a.h\"\n#include \"b.h\"\n"
	request := func() Request { return Request{Image: source(t, code), CompileOptions: "-I" + dir} }

	first := start(t, root, "on")
	s := first.session(h)
	tx := begin(t, s, request())
	looks := tx.Trace()[0].Looks
	var found, absent bool
	for _, l := range looks {
		found = found || l.Path == header && !l.Absent && l.Size == int64(len("int a;\n")) && l.Inode != 0
		absent = absent || strings.HasSuffix(l.Path, "b.h") && l.Absent
	}
	if !found || !absent {
		t.Errorf("the trace has not what was looked at: %+v", looks)
	}
	wantStep(t, tx.Group(0), Build)
	tx.Group(0).Built(Outcome{Artifact: artifact("1"), Took: time.Second})
	first.finish()
	first.want(map[stats.Counter]int64{stats.HeadersScanned: 1, stats.DiskPuts: 1})

	second := start(t, root, "on")
	s = second.session(h)
	wantStep(t, begin(t, s, request()).Group(0), Hit)
	second.want(map[stats.Counter]int64{stats.HeadersScanned: 0, stats.HeadersChecked: 1})

	// It changes between Begin and the end of the build.
	writeFile(t, filepath.Join(dir, "b.h"), "int b;\n")
	g := begin(t, s, request()).Group(0)
	wantStep(t, g, Build)
	writeFile(t, header, "int other;\n")
	g.Built(Outcome{Artifact: artifact("2"), Took: time.Second})
	if !g.Exclusive() || g.Uncacheable().Code != reason.NotCacheableChanged {
		t.Errorf("what was built of changed headers is everybody's: %v", g.Uncacheable())
	}
	second.finish()
	second.want(map[stats.Counter]int64{stats.Of(reason.NotCacheableChanged): 1, stats.DiskPuts: 0})
}

// An application may remove the directory of its source once the build has ended, before Built is called: Settle has
// looked. What changes there before it, or elsewhere after it, counts.
func TestDirectoryThatGoes(t *testing.T) {
	t.Parallel()
	remove := func(_, main string) error { return os.RemoveAll(main) }
	change := func(include, _ string) error {
		return os.WriteFile(filepath.Join(include, "a.h"), []byte("int other;\n"), 0o600)
	}
	add := func(_, main string) error { return os.WriteFile(filepath.Join(main, "a.h"), nil, 0o600) }
	nothing := func(_, _ string) error { return nil }
	for name, test := range map[string]struct {
		before, after func(include, main string) error // Settle
		kept          bool
	}{
		"removed":                     {nothing, remove, true},
		"removed before":              {remove, nothing, false},
		"a header is new there":       {add, nothing, false},
		"a header changes":            {change, nothing, false},
		"a header changes later":      {nothing, change, false},
		"a header is new there later": {nothing, add, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			include, main := t.TempDir(), filepath.Join(t.TempDir(), "main")
			writeFile(t, filepath.Join(include, "a.h"), "int a;\n")
			if err := os.Mkdir(main, 0o700); err != nil {
				t.Fatal(err)
			}
			h := newHost(t)
			h.search, h.dir = &deps.Search{Main: main + "/"}, t.TempDir()
			e := start(t, newRoot(t), "on")
			g := begin(t, e.session(h), Request{Image: source(t, "#include \"a.h\"\n"), CompileOptions: "-I" + include}).Group(0)
			wantStep(t, g, Build)
			if err := test.before(include, main); err != nil {
				t.Fatal(err)
			}
			g.Settle()
			if err := test.after(include, main); err != nil {
				t.Fatal(err)
			}
			g.Built(Outcome{Artifact: artifact("1"), Took: time.Second})
			e.finish()
			want := map[stats.Counter]int64{stats.Of(reason.NotCacheableChanged): 1, stats.DiskPuts: 0}
			if test.kept {
				want = map[stats.Counter]int64{stats.Of(reason.NotCacheableChanged): 0, stats.DiskPuts: 1}
			}
			e.want(want)
		})
	}
}

// A variable that changes between Begin and the end of the build may be in what was built: it
// is neither stored nor shared, and a failure is nobody else's.
func TestVariablesThatChange(t *testing.T) {
	t.Parallel()
	run, h := start(t, newRoot(t), "on"), newHost(t)
	s := run.session(h)
	r := Request{Image: source(t, k1)}
	for i, end := range []func(g *Group){
		func(g *Group) { g.Built(Outcome{Artifact: artifact("other"), Took: time.Second}) },
		func(g *Group) { g.Failed(errors.New("refused"), time.Second) },
	} {
		h.variables = nil
		g := begin(t, s, r).Group(0)
		wantStep(t, g, Build)
		h.variables = []key.Pair{{Name: "IGC_x", Value: "1"}}
		end(g)
		if !g.Exclusive() || g.Uncacheable().Code != reason.NotCacheableRuntime {
			t.Errorf("%d: what was built under other variables is everybody's: %v", i, g.Uncacheable())
		}
	}
	h.variables = []key.Pair{{Name: "B", Value: "1"}, {Name: "A", Value: "1"}}
	g := begin(t, s, r).Group(0)
	wantStep(t, g, Build)
	h.variables = []key.Pair{{Name: "A", Value: "1"}, {Name: "B", Value: "1"}} // the same
	g.Built(Outcome{Artifact: artifact("1"), Took: time.Second})
	run.finish()
	run.want(map[stats.Counter]int64{stats.Of(reason.NotCacheableRuntime): 2, stats.DiskPuts: 1})
}

// What a driver makes at launches is stored when it was captured; until then others wait,
// and nobody of this process waits for others.
func TestDeferral(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	h := newHost(t)
	h.delivery = AtLaunch
	run, other := start(t, root, "on"), start(t, root, "on")
	r := Request{Image: source(t, k1)}
	tx := begin(t, run.session(h), r)
	g := tx.Group(0)
	wantStep(t, g, Build)
	g.Built(Outcome{Took: time.Hour})
	d := g.Deferral()
	if d == nil || d.Taken() {
		t.Fatalf("the deferral is %+v", d)
	}
	tx.Abandon() // the deferral goes on
	waiter := begin(t, other.session(newHost(t)), r).Group(0)
	wantStep(t, waiter, Wait)

	// Of this process nobody waits while the application is awaited.
	held := begin(t, other.session(newHost(t)), Request{Image: source(t, "kernel void k2() {}")}).Group(0)
	wantStep(t, held, Build)
	impatient := begin(t, run.session(newHost(t)), Request{Image: source(t, "kernel void k2() {}")}).Group(0)
	wantStep(t, impatient, Build)
	impatient.Abandon()
	d.Launched()
	patient := begin(t, run.session(newHost(t)), Request{Image: source(t, "kernel void k2() {}")}).Group(0)
	wantStep(t, patient, Wait)
	held.Abandon()

	deferred := func(variants ...string) *store.Artifact {
		a := artifact("of launches")
		a.Binaries[0].Form, a.Variants = store.FormDeferred, variants
		return a
	}
	d.Captured(deferred("a"))
	await(t, waiter)
	wantStep(t, waiter, Hit)
	waiter.Loaded(1)
	again := waiter.Deferral()
	if again == nil || !again.Taken() {
		t.Fatalf("what was loaded has the deferral %+v", again)
	}
	again.Captured(deferred("a", "b"))
	run.finish()
	other.finish()
	run.want(map[stats.Counter]int64{stats.Captures: 1, stats.DiskPuts: 1, stats.DiskWaits: 1, stats.Builds: 1})
	other.want(map[stats.Counter]int64{stats.Captures: 1, stats.DiskPutsBettered: 1, stats.DiskHits: 1})
}

// A wait under way ends when a program of this process comes to await its launch.
func TestAwaitingEndsWaits(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	run, other := start(t, root, "on"), start(t, root, "on")
	r := Request{Image: source(t, k1)}
	held := begin(t, other.session(newHost(t)), r).Group(0)
	wantStep(t, held, Build)
	waiter := begin(t, run.session(newHost(t)), r).Group(0)
	ready := wantStep(t, waiter, Wait).Ready
	done := run.Awaiting()
	<-ready
	wantStep(t, waiter, Build) // without the lock
	waiter.Built(Outcome{Artifact: artifact(k1), Took: 1})
	done()
	done()
	third := begin(t, run.session(newHost(t)), Request{Image: source(t, k1), CompileOptions: "-DX"}).Group(0)
	wantStep(t, third, Build)
}

func TestDropped(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.delivery = AtLaunch
	run := start(t, newRoot(t), "on")
	s := run.session(h)
	g := begin(t, s, Request{Image: source(t, k1)}).Group(0)
	wantStep(t, g, Build)
	g.Built(Outcome{Took: time.Hour})
	waiter := begin(t, run.session(newHost(t)), Request{Image: source(t, k1)}).Group(0)
	g.Deferral().Launched()
	ready := wantStep(t, waiter, Wait).Ready
	g.Deferral().Dropped("for a test")
	<-ready
	wantStep(t, waiter, Build)
	run.want(map[stats.Counter]int64{stats.CapturesDropped: 1})
}

// What another process makes is not waited for, and its miss is explained.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.delivery = Elsewhere
	run := start(t, newRoot(t), "on")
	s := run.session(h)
	r := Request{Image: source(t, k1)}
	one, two := begin(t, s, r).Group(0), begin(t, s, r).Group(0)
	wantStep(t, one, Build)
	wantStep(t, two, Build)
	one.Built(Outcome{Took: 1})
	two.Abandon()
	run.finish()
	run.want(map[stats.Counter]int64{
		stats.Builds: 1, stats.Delegated: 1, stats.DiskPuts: 0, stats.Of(reason.NearestNothing): 1, stats.Of(reason.NotCacheableRuntime): 0,
	})
	run.wantDecision(0, func(d Decision) string {
		if d.Nearest != "nothing near it" || d.Key.IsZero() || d.Spent != 1 {
			return "want an explanation"
		}
		return ""
	})
	unlock, err := run.store.(store.Locker).Lock(t.Context(), one.Job().Key, 0)
	if err != nil {
		t.Fatalf("the lock is held: %v", err)
	}
	unlock()
}

func TestInvalid(t *testing.T) {
	t.Parallel()
	s := start(t, "", "on").session(newHost(t))
	img := source(t, k1)
	for name, r := range map[string]Request{
		"no image":          {},
		"a device too many": {Image: img, Devices: []int{1}},
		"a constant twice":  {Image: img, Constants: []key.SpecConstant{key.Uint32(1, 1), key.Uint32(1, 2)}},
	} {
		if _, err := s.Begin(t.Context(), r); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever order of answers a caller gives, the engine neither deadlocks nor holds a lock
// in the end.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5})
	f.Add([]byte{0, 3, 0, 1, 0, 2, 6, 6, 0})
	f.Add([]byte{10, 13, 0, 11, 12, 16})
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 40 {
			return
		}
		run := start(t, newRoot(t), "on")
		h := newHost(t)
		s := run.session(h)
		r := Request{Image: source(t, k1)}
		groups := []*Group{begin(t, s, r).Group(0), begin(t, s, r).Group(0)}
		for _, b := range script {
			g := groups[int(b/10)%2]
			switch b % 10 {
			case 0:
				g.Next(t.Context())
			case 1:
				g.Built(Outcome{Artifact: artifact(k1), Took: 1})
			case 2:
				g.Failed(errors.New("no"), 1)
			case 3:
				g.Loaded(1)
			case 4:
				g.Rejected(t.Context(), errors.New("no"))
			case 5:
				g.Built(Outcome{Took: 1, Unfit: "x"})
			case 6:
				g.Abandon()
			case 7:
				g.Deferral()
			case 8:
				groups[int(b/10)%2] = g.Renew()
				g.Abandon()
			case 9:
				if step := g.Next(t.Context()); step.Kind == Wait {
					groups[1-int(b/10)%2].Abandon()
					<-step.Ready
				}
			}
		}
		for _, g := range groups {
			g.Abandon()
		}
		run.finish()
		unlock, err := run.store.(store.Locker).Lock(t.Context(), begin(t, s, r).Group(0).Job().Key, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		unlock()
	})
}
