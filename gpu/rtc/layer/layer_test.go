//go:build !nogpu && linux

package layer_test

import (
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/gpu/rtc/layer"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

// host is an interposer, in Go.
type host struct {
	*layer.Layer
	dir     string
	library *rtc.Library
	compile uintptr
}

func newHost(t *testing.T) *host {
	t.Helper()
	return newHostWith(t, nil)
}

func newHostWith(t *testing.T, missed func() func()) *host {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "cache")
	l, err := layer.Open(inprocess.Options{Settings: settings.Inputs{Program: map[string]string{"dir": dir}}}, missed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	library, err := rtc.Open(rtc.NVRTC, "libnvrtc.so.11.2")
	if err != nil {
		t.Fatalf("%v: apt-get install libnvrtc11.2", err)
	}
	lib, err := dl.Open("libnvrtc.so.11.2")
	if err != nil {
		t.Fatal(err)
	}
	f, _ := lib.Symbol("nvrtcCompileProgram")
	return &host{l, dir, library, uintptr(f)}
}

func (h *host) request(text string) *layer.Request {
	major, minor := h.library.Version()
	return &layer.Request{
		API: rtc.NVRTC, Compile: h.compile, Major: major, Minor: minor,
		Program: rtc.Request{Source: []byte("extern \"C\" __global__ void k(int *p) { *p = " + text + "; }\n"), Name: "a.cu"},
	}
}

func (h *host) begin(t *testing.T, r *layer.Request) (*inprocess.Ticket, front.Step) {
	t.Helper()
	ticket := h.ask(t, r)
	reply, ok := ticket.Wait(inprocess.AtOnce)
	for start := time.Now(); !ok; reply, ok = ticket.Wait(time.Millisecond) {
		if time.Since(start) > 3*time.Minute {
			t.Fatal("nothing to say")
		}
	}
	return ticket, reply
}

func (h *host) ask(t *testing.T, r *layer.Request) *inprocess.Ticket {
	t.Helper()
	ticket, err := h.Ask(r)
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

// build compiles as a reply says.
func (h *host) build(t *testing.T, ticket *inprocess.Ticket, r *layer.Request) {
	t.Helper()
	o, err := h.library.Compile(r.Program)
	if err != nil {
		t.Fatal(err)
	}
	ticket.Next(layer.Built(o, time.Second))
	h.Quiesce()
	if !h.Cache.Flush(3 * time.Minute) {
		t.Fatal("not stored in a minute")
	}
}

func (h *host) entries(t *testing.T) int {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(h.dir, "*/*/*/*/*.bin"))
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

func TestColdAndWarm(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	r := h.request("1")
	ticket, reply := h.begin(t, r)
	if reply.Action != front.Build || len(reply.Message) != 0 {
		t.Fatalf("cold: %+v", reply)
	}
	h.build(t, ticket, r)
	_, reply = h.begin(t, r)
	if reply.Action != front.Hit {
		t.Fatalf("warm: %+v", reply)
	}
	if !slices.ContainsFunc(reply.Message, func(f front.Field) bool {
		return f.Tag == front.Binary && rtc.Form(f.Detail) == rtc.PTX && len(f.Data) > 0
	}) {
		t.Error("no PTX")
	}
	if n := h.Cache.Stats().Get(stats.DiskHits); n != 1 {
		t.Errorf("%d hits", n)
	}

	r.Program.Options = append(r.Program.Options, "--time=t") // writes a file
	ticket, reply = h.begin(t, r)
	if reply.Action != front.Build || len(reply.Message) != 1 || reply.Message[0].Tag != front.Passed {
		t.Errorf("what is not kept: %+v", reply)
	}
	ticket.End()
}

// A compile that failed, or of which nothing is said, is not stored, and nobody waits
// for it.
func TestFailedAndAbandoned(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	ended := func(r front.Result) front.Message { return front.Message{{Tag: front.Ended, Detail: uint32(r)}} }
	for i, end := range []func(*inprocess.Ticket){
		func(t *inprocess.Ticket) { t.Next(ended(front.Failed)) },
		func(t *inprocess.Ticket) { t.Next(ended(front.Abandoned)) },
		func(t *inprocess.Ticket) { t.Next(ended(99)) },
		func(t *inprocess.Ticket) { t.Next(front.Message{{Tag: front.Unit}}) },
		func(t *inprocess.Ticket) { t.End() },
		func(t *inprocess.Ticket) { t.End(); t.Next(ended(front.Built)) },
	} {
		r := h.request(string(rune('2' + i)))
		ticket, reply := h.begin(t, r)
		if reply.Action != front.Build {
			t.Fatalf("%d: %+v", i, reply)
		}
		end(ticket)
		if n := h.entries(t); n != 0 {
			t.Fatalf("%d: %d entries", i, n)
		}
		ticket, reply = h.begin(t, r)
		switch {
		case reply.Action == front.Build:
			ticket.End()
		case i > 0 || reply.Action != front.Pass: // a diagnostic is known for a moment
			t.Errorf("%d, again: %+v", i, reply)
		}
	}
}

// Who asks for what another thread compiles waits, and is served; where that is given
// up the next one compiles.
func TestThreadsAtOnce(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	r := h.request("1")
	first, reply := h.begin(t, r)
	if reply.Action != front.Build {
		t.Fatalf("%+v", reply)
	}
	second, third := h.ask(t, r), h.ask(t, r)
	if _, ok := second.Wait(inprocess.AtOnce); ok {
		t.Fatal("the second had not to wait")
	}
	if _, ok := third.Wait(inprocess.AtOnce); ok {
		t.Fatal("the third had not to wait")
	}
	first.End()
	actions := make(map[front.Action]int)
	waiting := []*inprocess.Ticket{second, third}
	for end := time.Now().Add(3 * time.Minute); len(waiting) > 0 && time.Now().Before(end); {
		ticket := waiting[0]
		waiting = waiting[1:]
		reply, ok := ticket.Wait(10 * time.Millisecond)
		if !ok {
			waiting = append(waiting, ticket)
			continue
		}
		actions[reply.Action]++
		if reply.Action == front.Build {
			h.build(t, ticket, r)
		}
	}
	if actions[front.Build] != 1 || actions[front.Hit] != 1 {
		t.Errorf("%v", actions)
	}
}

func TestPassed(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	twice := h.request("1")
	twice.Program.Headers = []key.Header{{Name: "a.h"}, {Name: "a.h"}}
	other := h.request("1")
	other.API = 9
	for _, r := range []*layer.Request{twice, other} {
		if _, err := h.Ask(r); err == nil {
			t.Errorf("%+v is not passed through", r)
		}
	}
	h.Tell(uint32(rtc.NVRTC), front.Message{{Tag: front.Passed, Data: []byte("a callback during the compile")}})
	if n := h.Cache.Stats().Get(stats.Of(reason.PassedOther)); n != 3 {
		t.Errorf("%d counted", n)
	}
}

// What is called from a miss until the compiler may begin, for a program that reads header
// files.
func TestMissed(t *testing.T) {
	t.Parallel()
	var missed, over atomic.Int32
	h := newHostWith(t, func() func() {
		missed.Add(1)
		return func() { over.Add(1) }
	})
	check := func(when string, wantMissed, wantOver int32) {
		t.Helper()
		if missed.Load() != wantMissed || over.Load() != wantOver {
			t.Fatalf("%s: %d, %d", when, missed.Load(), over.Load())
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.h"), []byte("#define A 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := h.request("A")
	r.Program.Source = append([]byte("#include <a.h>\n"), r.Program.Source...)
	r.Program.Options = []string{"-I" + dir}
	ticket, reply := h.begin(t, r)
	if reply.Action != front.Build {
		t.Fatalf("cold: %+v", reply)
	}
	check("before the compile", 1, 1)
	h.build(t, ticket, r)
	check("behind it", 1, 1)
	if _, reply = h.begin(t, r); reply.Action != front.Hit {
		t.Fatalf("warm: %+v", reply)
	}
	check("warm", 1, 1)
	ticket, _ = h.begin(t, h.request("2"))
	check("without header files", 1, 1)
	ticket.End()
	r.Program.Source = append([]byte("// changed\n"), r.Program.Source...)
	ticket, _ = h.begin(t, r)
	ticket.End()
	check("ended", 2, 2)
}

// A path that a header file puts into the code of its includer is no other process's: what
// has it is not stored, and counted with that reason.
func TestRandomPlaceInTheCode(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	dir := t.TempDir()
	text := "inline __device__ const char *base() { return __BASE_FILE__; }\n"
	if err := os.WriteFile(filepath.Join(dir, "base.h"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		body   string
		stored int
		passed int64
	}{{"*p = base();", 0, 2}, {"*p = 0;", 1, 2}} {
		for j, place := range []string{"/tmp/tmpq1w2e3r4/", "/tmp/tmp_7zx8cv9/"} {
			r := h.request("")
			r.Program.Source = []byte("#include <base.h>\nextern \"C\" __global__ void k(const char **p) { " + c.body + " }\n")
			r.Program.Name, r.Program.Options = place+"a.cu", []string{"-I" + dir}
			ticket, reply := h.begin(t, r)
			if want := i == 1 && j == 1; (reply.Action == front.Hit) != want || !want && reply.Action != front.Build {
				t.Fatalf("%s %s: %+v", c.body, place, reply)
			}
			if reply.Action == front.Build {
				h.build(t, ticket, r)
			}
		}
		if n, passed := h.entries(t), h.Cache.Stats().Get(stats.Of(reason.NotCacheableRuntime)); n != c.stored || passed != c.passed {
			t.Errorf("%s: %d entries, %d counted", c.body, n, passed)
		}
	}
}
