package kernstash

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// drive takes a request through the engine, as Context.Program does.
func drive(ctx context.Context, s *engine.Session, f *fakeRuntime, r engine.Request) error {
	t, err := s.Begin(ctx, r)
	if err != nil {
		return err
	}
	defer t.Abandon()
	var errs []error
	for _, g := range t.Groups() {
		errs = append(errs, driveGroup(ctx, g, f))
	}
	return errors.Join(errs...)
}

func driveGroup(ctx context.Context, g *engine.Group, f *fakeRuntime) error {
	for {
		step := g.Next(ctx)
		begun := time.Now()
		switch step.Kind {
		case engine.Wait:
			<-step.Ready
		case engine.Hit:
			p, err := f.Load(ctx, Job(g.Job()), step.Artifact)
			if err != nil {
				g.Rejected(ctx, err)
				continue
			}
			g.Loaded(time.Since(begun))
			f.ReleaseProgram(p)
		case engine.Build, engine.Bypass:
			p, a, err := f.Build(ctx, Job(g.Job()))
			var unfit *UnfitError
			if err != nil && !errors.As(err, &unfit) {
				g.Failed(err, time.Since(begun))
				return err
			}
			o := engine.Outcome{Artifact: a, Took: time.Since(begun)}
			if unfit != nil {
				o.Unfit = unfit.Why
			}
			g.Built(o)
			f.ReleaseProgram(p)
		default:
			return nil
		}
	}
}

// scenario is a random sequence of processes with requests, which is the same for a seed.
type scenario struct {
	t       *testing.T
	rand    *rand.Rand
	headers string // directory of header files
	devices []key.Device
	images  []func() *key.Image
	past    []asked
}

func newScenario(t *testing.T, seed uint64, several bool) *scenario {
	s := &scenario{t: t, rand: rand.New(rand.NewPCG(seed, 1)), headers: t.TempDir()}
	one := newFake(t).devices[0]
	s.devices = []key.Device{one}
	if several {
		other := one
		other.Driver = "2"
		s.devices = []key.Device{one, other, one, {}} // the last one cannot be identified
	}
	unit := func(kind key.Kind, code string, headers ...key.Header) func() *key.Image {
		return func() *key.Image {
			img, err := key.NewImage(kind, []byte(code), headers...)
			if err != nil {
				t.Fatal(err)
			}
			return img
		}
	}
	set := func(sequence bool, codes ...string) func() *key.Image {
		return func() *key.Image {
			var units []key.Unit
			for _, c := range codes {
				units = append(units, key.Unit{Kind: key.OpenCLC, Code: []byte(c)})
			}
			img, err := key.NewImageSet(units...)
			if sequence {
				img, err = key.NewImageSequence(units...)
			}
			if err != nil {
				t.Fatal(err)
			}
			return img
		}
	}
	s.images = []func() *key.Image{
		unit(key.OpenCLC, src(1)), unit(key.OpenCLC, src(2)), unit(key.OpenCLC, strings.Repeat("\n", 3000)+src(3)),
		unit(key.OpenCLC, "#include \"a.h\"\n"), unit(key.OpenCLC, "#include \"a.h\"\n#include <b.h>\n"),
		unit(key.OpenCLC, "#include \"missing.h\"\nint x;\n"), unit(key.OpenCLC, "char *s = __FILE__;\n"),
		unit(key.OpenCLC, "char *s = __TIME__;\n"),
		unit(key.OpenCLC, "#include \"m.h\"\n", key.Header{Name: "m.h", Content: []byte("int m;\n")}),
		unit(key.CUDACpp, "#include \"a.h\"\nint f(){return 1;}\n"), unit(key.CUDACpp, "int g(){return 1;}\n"),
		unit(key.SPIRV, "\x03\x02\x23\x07spirv"), unit(key.Opaque, "anything\n"), unit(key.PTX, ".version 7.0\n"),
		set(false, src(1), src(2)), set(true, src(2), src(1)), set(true, src(1)), set(false, "#include \"a.h\"\n", src(1)),
	}
	s.writeHeader("a.h")
	return s
}

func (s *scenario) writeHeader(name string) {
	writeFile(s.t, filepath.Join(s.headers, name), fmt.Sprintf("int h%d;\n", s.rand.IntN(3)))
}

func pick[T any](s *scenario, from ...T) T { return from[s.rand.IntN(len(from))] }

// asked is one request, and what becomes of its build.
type asked struct {
	image                           int
	imageOptions, compile, link     string
	constants                       []key.SpecConstant
	noOptions, noLinkOptions, again bool // again: of the image of the request before
	attributes, unkeyed             []key.Pair
	devices                         []int
	outcome                         string
}

// outcomes of builds and loads; see way.outcome.
var outcomes = []string{"", "", "", "", "", "wrong", "unfit", "no binary", "refused", "changes"}

// ask returns a request: as likely as not one that was made before.
func (s *scenario) ask() (a asked) {
	if len(s.past) > 0 && s.rand.IntN(2) == 0 {
		a := pick(s, s.past...)
		a.outcome = pick(s, outcomes...)
		if s.rand.IntN(4) == 0 {
			a.constants = []key.SpecConstant{key.Uint32(7, uint32(s.rand.IntN(3)))}
		}
		return a
	}
	defer func() { s.past = append(s.past, a) }()
	a = asked{
		image:        s.rand.IntN(len(s.images)),
		imageOptions: pick(s, "", "", "-DI=1"),
		compile: pick(s, "", "", "-DN=4", "-DN=5  -cl-fast-relaxed-math", "-I"+s.headers, "-I "+s.headers+" -DN=4", "-g", "-I"+s.headers+" -g",
			"-unsure", "-save-temps", "-DT=__TIME__", "-DF=__FILE__", "--some \"quoted word\""),
		link:      pick(s, "", "", "-cl-denorms-are-zero", "-L/x", "-create-library"),
		noOptions: pick(s, false, false, true), noLinkOptions: pick(s, false, false, true), again: pick(s, false, true),
		outcome: pick(s, outcomes...),
	}
	for range s.rand.IntN(3) {
		a.constants = append(a.constants, key.Uint32(uint32(s.rand.IntN(3)), uint32(s.rand.IntN(2))))
	}
	for range s.rand.IntN(3) {
		a.attributes = append(a.attributes, key.Pair{
			Name: pick(s, "name", "expression", deps.SourceDirectory, deps.SourceParent), Value: pick(s, "x", "y", s.headers),
		})
	}
	if s.rand.IntN(3) == 0 {
		a.unkeyed = []key.Pair{{Name: "called", Value: pick(s, "p", "q")}}
	}
	for d := range s.devices {
		if s.rand.IntN(2) == 0 {
			a.devices = append(a.devices, d)
		}
	}
	return a
}

// process is one process of a scenario: its settings, its requests, and what changes
// before each.
type process struct {
	options   Options
	variables []key.Pair
	asked     []asked
	change    []string // a header file to write anew; "": none
}

func (s *scenario) process() process {
	p := process{options: Options{
		Mode: pick(s, ModeOn, ModeOn, ModeOn, ModeOn, ModeReadOnly, ModeRefresh, ModeObserve), NoMemory: true,
	}}
	if s.rand.IntN(4) == 0 {
		p.options.Flags = map[string]string{"max-device-image-size": "40"}
	}
	if s.rand.IntN(8) == 0 {
		p.options.MinBuildTime = time.Hour
	}
	if s.rand.IntN(6) == 0 {
		p.variables = []key.Pair{{Name: "V", Value: pick(s, "1", "-DX", "2")}}
	}
	for range 2 + s.rand.IntN(4) {
		p.asked = append(p.asked, s.ask())
		p.change = append(p.change, pick(s, "", "", "a.h", "b.h"))
	}
	return p
}

// transcript is what a way of going through a scenario has to show.
type transcript struct {
	Steps   []string
	Stats   []string
	Entries []string
}

// way is one of the two ways: each request is one call of program.
type way struct {
	s       *scenario
	root    string
	f       *fakeRuntime
	c       *Cache
	decided []string
	mu      sync.Mutex
	program func(Request) error
}

func (w *way) tell(d engine.Decision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.s.devices) > 1 {
		d.Nearest = "" // of two groups at once either may find the other's entry
	}
	err := ""
	if d.Err != nil {
		err = d.Err.Error()
	}
	w.decided = append(w.decided, fmt.Sprintf("%s %v %d %v %q %q %q %q %d %q",
		d.Key, d.Devices, d.Size, d.Origin, err, d.Reason, d.Nearest, d.Observed, d.Bytes, d.Kernels))
}

// start begins a process: of the engine beside a Cache that only lends it its stores, or
// of a Context.
func (w *way) start(p process, byEngine bool) {
	t := w.s.t
	w.f = newFake(t)
	w.f.devices, w.f.variables = w.s.devices, p.variables
	w.f.search = make([]*deps.Search, len(w.f.devices))
	for i := range w.f.search {
		w.f.search[i] = &deps.Search{}
	}
	o := p.options
	o.Dir, o.ConfigFile = w.root, emptyConfig(t)
	c, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	w.c = c
	if !byEngine {
		x := NewContext(c, w.f, ContextOptions{decided: w.tell})
		w.program = func(r Request) error {
			p, err := x.Program(t.Context(), r)
			if err == nil {
				p.Release()
			}
			return err
		}
		return
	}
	e := engine.New(engine.Options{Settings: c.cache().Settings(), Store: c.cache().Store(), Blobs: c.cache().Store().(store.Blobs), Recorder: c.cache().Recorder()})
	session := e.Session(host[*fakeProgram, *fakeKernel]{Runtime: w.f}, engine.SessionOptions{Decided: w.tell})
	w.program = func(r Request) error {
		err := drive(t.Context(), session, w.f, r.engine())
		e.Flush(time.Now().Add(time.Minute))
		return err
	}
}

// go through one scenario.
func (w *way) through(seed uint64, several, byEngine bool) (out transcript) {
	t := w.s.t
	var totals stats.Snapshot
	var image *Image
	for i := range 1 + int(seed%5) {
		p := w.s.process()
		w.start(p, byEngine)
		for j, a := range p.asked {
			if p.change[j] != "" {
				w.s.writeHeader(p.change[j])
			}
			r := w.request(a, image)
			image = r.Image
			w.outcome(a.outcome)
			err := w.program(r)
			w.c.Flush(time.Minute)
			w.mu.Lock()
			sort.Strings(w.decided)
			out.Steps = append(out.Steps, fmt.Sprintf("process %d (%s), request %d: %v", i, p.options.Mode, j, failure(err)))
			out.Steps = append(out.Steps, w.decided...)
			w.decided = nil
			w.mu.Unlock()
		}
		image = nil
		if err := w.c.Close(); err != nil {
			t.Error(err)
		}
		totals = totals.Plus(w.c.Stats())
	}
	for c, n := range totals {
		switch c := stats.Counter(c); {
		case n == 0 || c <= stats.MemoryEvictions || c == stats.BuildTime || c == stats.LoadTime || c == stats.SavedTime:
		case several && strings.HasPrefix(c.String(), "nearest."):
		default:
			out.Stats = append(out.Stats, fmt.Sprintf("%v = %d", c, n))
		}
	}
	out.Entries = w.entries()
	return out
}

func failure(err error) string {
	switch {
	case err == nil:
		return "made"
	case errors.Is(err, ErrInvalid), errors.Is(err, engine.ErrInvalid):
		return "invalid"
	}
	return "failed"
}

// request makes a request; every second one is for the image of the one before.
func (w *way) request(a asked, last *Image) Request {
	img, _ := newImage(w.s.images[a.image](), nil)
	if a.again && last != nil {
		img = last
	} else {
		img.CompileOptions = a.imageOptions
	}
	return Request{
		Image: img, Constants: a.constants, CompileOptions: a.compile, LinkOptions: a.link,
		NoOptions: a.noOptions, NoLinkOptions: a.noLinkOptions, Attributes: a.attributes, Unkeyed: a.unkeyed, Devices: a.devices,
	}
}

// outcome says what the next build or load comes to.
func (w *way) outcome(what string) {
	w.f.build, w.f.load, w.f.noBinary = nil, nil, what == "no binary"
	switch what {
	case "wrong":
		w.f.build = func(context.Context, Job) error { return &BuildError{Log: "it is wrong"} }
	case "unfit":
		w.f.build = func(context.Context, Job) error { return &UnfitError{Why: "it is unfit"} }
	case "refused":
		w.f.load = func(Job, *store.Artifact) error { return errors.New("the driver refuses it") }
	case "changes":
		w.f.build = func(context.Context, Job) error {
			return os.WriteFile(filepath.Join(w.s.headers, "a.h"), []byte("int changed;\n"), 0o600)
		}
	}
}

// entries returns what the store holds.
func (w *way) entries() (all []string) {
	c := openCache(w.s.t, w.root)
	for info, err := range c.cache().Store().List(w.s.t.Context()) {
		if err != nil {
			w.s.t.Fatal(err)
		}
		entry, err := c.cache().Store().Get(w.s.t.Context(), info.Key)
		if err != nil {
			w.s.t.Fatal(err)
		}
		sum := sha256.Sum256(entry.Artifact.Binaries[0].Data)
		all = append(all, fmt.Sprintf("%s %d %s", info.Location, len(entry.Artifact.Binaries), hex.EncodeToString(sum[:8])))
	}
	slices.SortFunc(all, cmp.Compare[string])
	return all
}

// TestDifferential: Context.Program, whose memory tier stands between, and its engine driven
// by hand, one group after the other, come to the same keys, reasons, counts and entries,
// whatever is asked.
func TestDifferential(t *testing.T) {
	t.Parallel()
	seeds := 60
	if os.Getenv("KERNSTASH_TEST_LONG") != "" {
		seeds = 1000
	}
	seen := make(map[string]int)
	for seed := range uint64(seeds) {
		several := seed%3 == 2
		var all [2]transcript
		headers := ""
		for i := range all {
			s := newScenario(t, seed, several)
			if headers != "" {
				s.headers = headers // the same, for the same keys
				_ = os.Remove(filepath.Join(headers, "b.h"))
				s.rand = rand.New(rand.NewPCG(seed, 1))
				s.writeHeader("a.h")
			}
			headers = s.headers
			w := &way{s: s, root: newRoot(t)}
			all[i] = w.through(seed, several, i == 1)
		}
		if diff := gocmp.Diff(all[0], all[1]); diff != "" {
			t.Fatalf("seed %d: Context.Program (-), engine (+):\n%s", seed, diff)
		}
		for _, line := range all[0].Stats {
			name, _, _ := strings.Cut(line, " ")
			seen[name]++
		}
	}
	for _, c := range []stats.Counter{
		stats.DiskHits, stats.Builds, stats.BuildFailures, stats.DiskPuts, stats.HeadersScanned, stats.HeadersChecked,
		stats.ObserveEqual, stats.Of(reason.MissAbsent), stats.Of(reason.MissRefused), stats.Of(reason.MissRefresh),
		stats.Of(reason.NotCacheableChanged), stats.Of(reason.NotCacheableHeaders), stats.Of(reason.NotCacheableOptions),
		stats.Of(reason.NotCacheableRuntime), stats.Of(reason.NotCacheableSize), stats.Of(reason.NotCacheableCheap),
		stats.Of(reason.NearestOptions), stats.Of(reason.NearestConstants),
	} {
		if seen[c.String()] == 0 {
			t.Errorf("no scenario comes to %v", c)
		}
	}
}
