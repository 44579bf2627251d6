//go:build !nogpu

package layer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/gpu/opencl/layer"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

// begun is a ticket with its first reply, which must be a Serve.
func begun(t *testing.T, h *host, r *layer.Request) (*layer.Ticket, layer.Reply) {
	t.Helper()
	ticket, reply, ok := h.l.Ask(r)
	for !ok {
		reply, ok = ticket.Wait(time.Second)
	}
	if reply.Action != front.Hit {
		t.Fatalf("action %d: %s", reply.Action, reply.Reason)
	}
	return ticket, reply
}

// A binary that the driver does not take goes, and another is built in its
// place.
func TestRefusedBinaryIsReplaced(t *testing.T) {
	t.Parallel()
	h := newHost(t, openLayer(t, filepath.Join(t.TempDir(), "root")), device(t, "INTEL"))
	h.build(source(1), &none)
	counted(t, h.l, stats.DiskPuts, 1)
	h.l.Settle()
	h.refuse = map[int]bool{0: true}
	if p := h.build(source(1), &none); p.String() != "refused built" {
		t.Fatalf("%v, %s", p, p.reason)
	}
	counted(t, h.l, stats.DiskPuts, 2)
	if n := h.l.Cache.Stats()[stats.Of(reason.MissRefused)]; n != 1 {
		t.Errorf("%d misses for refused artifacts, want 1", n)
	}
	h.refuse = nil
	if p := h.build(source(1), &none); p.String() != "restored" {
		t.Errorf("after that: %v", p)
	}
}

// Who ends a ticket without a word leaves those who wait for it to themselves.
func TestAbandonedTicket(t *testing.T) {
	t.Parallel()
	h := newHost(t, openLayer(t, filepath.Join(t.TempDir(), "root")), device(t, "INTEL"))
	ticket, _ := begun(t, h, h.request(source(1), &none))
	other := make(chan *program)
	go func() { other <- h.build(source(1), &none) }()
	counted(t, h.l, stats.MemoryWaits, 1)
	ticket.End()
	if p := <-other; p.String() != "built" {
		t.Errorf("the other one: %v, %s", p, p.reason)
	}
	counted(t, h.l, stats.DiskPuts, 1)

	// Out of resources, or the like, says nothing of an entry.
	ticket, reply := begun(t, h, h.request(source(1), &none))
	if len(reply.Artifacts[0].Binary) == 0 {
		t.Fatal("not served")
	}
	if r, ok := ticket.Next([]layer.Outcome{{Result: front.Abandoned}}); !ok || r.Action != front.Done {
		t.Errorf("reply %+v, %v", r, ok)
	}
	ticket.End()
	if p := h.build(source(1), &none); p.String() != "restored" {
		t.Errorf("after a restore that was given up: %v", p)
	}
	if n := h.l.Cache.Stats()[stats.BuildFailures]; n != 0 {
		t.Errorf("%d failures were counted", n)
	}
}

// A ticket that is used wrongly ends, and harms nobody.
func TestTicketUsedWrongly(t *testing.T) {
	t.Parallel()
	h := newHost(t, openLayer(t, filepath.Join(t.TempDir(), "root")), device(t, "INTEL"))
	ticket, _ := begun(t, h, h.request(source(1), &none))
	if r, ok := ticket.Next(make([]layer.Outcome, 2)); !ok || r.Action != front.Pass {
		t.Errorf("with too many outcomes: %+v, %v", r, ok)
	}
	if r, ok := ticket.Next(make([]layer.Outcome, 1)); !ok || r.Action != front.Pass {
		t.Errorf("after that: %+v, %v", r, ok)
	}
	ticket.End()
	ticket.End()
	if r, ok := ticket.Next(make([]layer.Outcome, 1)); !ok || r.Action != front.Pass {
		t.Errorf("after its end: %+v, %v", r, ok)
	}
	if h.l.IsOpen(ticket) {
		t.Error("it is still open")
	}
	ticket, _ = begun(t, h, h.request(source(1), &none))
	if r, ok := ticket.Next(make([]layer.Outcome, 1)); !ok || r.Action != front.Done {
		t.Errorf("an outcome without a result: %+v, %v", r, ok)
	}
	ticket.End()
	if p := h.build(source(1), &none); p.String() != "built" {
		t.Errorf("after all that: %v, %s", p, p.reason)
	}
}

// A thread that builds one program does not wait for another: it may be the
// same.
func TestOneTicketAThread(t *testing.T) {
	t.Parallel()
	h := newHost(t, openLayer(t, filepath.Join(t.TempDir(), "root")), device(t, "INTEL"))
	r := h.request(source(1), &none)
	r.Thread = 17
	ticket, _ := begun(t, h, r)
	for _, n := range []int{1, 2} {
		again := h.request(source(n), &none)
		again.Thread = 17
		inner, reply, ok := h.l.Ask(again)
		if inner != nil || !ok || reply.Action != front.Pass {
			t.Errorf("within it, program %d: %+v, %v", n, reply, ok)
		}
	}
	ticket.End()
	if n := h.l.Cache.Stats()[stats.Of(reason.PassedBusy)]; n != 2 {
		t.Errorf("%d were counted, want 2", n)
	}
	again := h.request(source(1), &none)
	again.Thread = 17
	if p := h.do(again); p.String() != "built" {
		t.Errorf("after its end: %v, %s", p, p.reason)
	}
}

// Of threads that ask for one program at once, one builds it.
func TestThreadsAtOnce(t *testing.T) {
	t.Parallel()
	h := newHost(t, openLayer(t, filepath.Join(t.TempDir(), "root")), device(t, "INTEL"))
	const threads, programs = 8, 3
	var all sync.WaitGroup
	got := make([][programs]string, threads)
	for i := range threads {
		all.Go(func() {
			for n := range programs {
				got[i][n] = h.build(source(n), &none).String()
			}
		})
	}
	all.Wait()
	for n := range programs {
		how := make(map[string]int)
		for i := range threads {
			how[got[i][n]]++
		}
		if how["built"] != 1 || how["restored"] != threads-1 {
			t.Errorf("program %d: %v", n, how)
		}
	}
	if n := h.l.Cache.Stats()[stats.Builds]; n != programs {
		t.Errorf("%d builds, want %d", n, programs)
	}
}

// A compiler's verdict is the driver's own to give, for each who asks.
func TestFailingBuild(t *testing.T) {
	t.Parallel()
	h := newHost(t, openLayer(t, filepath.Join(t.TempDir(), "root")), device(t, "INTEL"))
	const wrong = "kernel void k(global int *p) { this is wrong; }"
	for range 2 {
		h.l.Settle()
		if p := h.build(wrong, &none); p.String() != "failed" || p.number != 0 {
			t.Errorf("%v, %d, %s", p, p.number, p.reason)
		}
	}
	h.l.Settle()
	// Those who waited for it build, and fail, by themselves.
	ticket, _ := begun(t, h, h.request(wrong, &none))
	other := make(chan *program)
	go func() { other <- h.build(wrong, &none) }()
	counted(t, h.l, stats.MemoryWaits, 1)
	ticket.Next([]layer.Outcome{{Result: front.Failed, Artifact: layer.Artifact{Log: "wrong"}}})
	ticket.End()
	if p := <-other; p.String() != "passed" && p.String() != "failed" {
		t.Errorf("the other one: %v, %s", p, p.reason)
	}
	if n := h.l.Cache.Stats()[stats.DiskPuts]; n != 0 {
		t.Errorf("%d artifacts were stored", n)
	}
}

// Equal devices are one unit: a program that is built for one device is there
// for a part of it, and for two equal parts at once.
func TestPartsHaveTheirRootsPrograms(t *testing.T) {
	t.Parallel()
	d := device(t, "POCL")
	parts, err := d.SubDevicesEqually(1)
	if err != nil {
		t.Fatal(err)
	}
	if len(parts) < 2 {
		t.Fatalf("%d parts, the test needs two processors", len(parts))
	}
	root := filepath.Join(t.TempDir(), "root")
	warm(t, root, source(1), d)
	l := openLayer(t, root)
	for _, devices := range [][]*opencl.Device{{d}, parts[:1], {parts[1], parts[0]}} {
		h := newHost(t, l, devices...)
		p := h.build(source(1), &none)
		for i := range devices {
			if p.how[i] != "restored" {
				t.Errorf("%d devices: %v, %s", len(devices), p, p.reason)
			}
		}
	}
	for _, p := range parts {
		if err := p.Release(); err != nil {
			t.Error(err)
		}
	}
}

// warm stores a program for a device of PoCL, through the Go library.
func warm(t *testing.T, root, source string, d *opencl.Device) {
	t.Helper()
	o := opencl.CachedOptions{Runtime: opencl.RuntimeOptions{SpecializeLocalSizes: [][3]int{{64, 1, 1}}}}
	x, cache := library(t, root, o, d)
	if err := x.Preload(t.Context(), requestOf(t, source)); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	if err := cache.Close(); err != nil {
		t.Error(err)
	}
	if n := cache.Stats()[stats.DiskPuts]; n != 1 {
		t.Fatalf("%d artifacts were stored, want 1", n)
	}
}

// What was left unsaid for 2 ms more than 130 s ends; here it is shorter.
func TestWaitHasAnEnd(t *testing.T) {
	h := newHost(t, openLayer(t, filepath.Join(t.TempDir(), "root")), device(t, "INTEL"))
	defer layer.SetMaxWait(50 * time.Millisecond)()
	passed := passes(t, h.l)
	first, _ := begun(t, h, h.request(source(1), &none))
	defer first.End()
	begin := time.Now()
	if p := h.build(source(1), &none); p.String() != "passed" {
		t.Errorf("%v, %s", p, p.reason)
	}
	if diff := cmp.Diff(map[string]int{"waited too long": 1}, passed()); diff != "" {
		t.Error(diff)
	}
	if took := time.Since(begin); took > 2*time.Minute {
		t.Errorf("it took %v", took)
	}
	if n := h.l.Cache.Stats()[stats.Of(reason.PassedBusy)]; n != 1 {
		t.Errorf("%d were counted, want 1", n)
	}
}

// passes has what becomes of a layer's requests reported. It returns what counts those that
// were passed through, by the reasons.
func passes(t *testing.T, l *layer.Layer) func() map[string]int {
	t.Helper()
	report := filepath.Join(t.TempDir(), "report")
	if err := os.WriteFile(report, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l.ReportTo(report)
	return func() map[string]int {
		f, err := os.Open(report)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		s, err := runlog.Read(f)
		if err != nil {
			t.Fatal(err)
		}
		counts := make(map[string]int)
		for _, c := range s.Passes {
			counts[c.What] = c.N
		}
		return counts
	}
}

// Requests that make no sense are the driver's.
func TestRequestsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	h := newHost(t, openLayer(t, filepath.Join(t.TempDir(), "root")), device(t, "INTEL"))
	passed, n := passes(t, h.l), 0
	for name, spoil := range map[string]func(r *layer.Request){
		"no device":        func(r *layer.Request) { r.Devices = nil },
		"65 devices":       func(r *layer.Request) { r.Devices = make([]uintptr, 65) },
		"no unit":          func(r *layer.Request) { r.Units = nil },
		"two units":        func(r *layer.Request) { r.Units = append(r.Units, r.Units[0]) },
		"no code":          func(r *layer.Request) { r.Units[0].Strings = nil },
		"another kind":     func(r *layer.Request) { r.What = 7 },
		"no entry point":   func(r *layer.Request) { r.Driver.GetDeviceInfo = 0 },
		"equal constants":  func(r *layer.Request) { r.Units[0].Constants = append(constant(1), constant(1)...) },
		"no platform":      func(r *layer.Request) { r.Driver.Platform = 0 },
		"a kind of no one": func(r *layer.Request) { r.Units[0].Headers = twice() },
	} {
		r := h.request(source(1), &none)
		spoil(r)
		ticket, reply, ok := h.l.Ask(r)
		for !ok {
			reply, ok = ticket.Wait(time.Second)
		}
		if reply.Action != front.Pass {
			t.Errorf("%s: %+v", name, reply)
		}
		counts, all := passed(), 0
		for reason, c := range counts {
			if all += c; reason == "" {
				t.Errorf("%s: passed for no reason", name)
			}
		}
		if n++; all != n {
			t.Errorf("%s: %v, want one more", name, counts)
		}
	}
	if n := h.l.Cache.Stats()[stats.Of(reason.PassedPanic)]; n != 0 {
		t.Errorf("%d panics", n)
	}
}

// Different programs at once, each by its own thread, do not wait for each other.
func TestTicketsOfDifferentProgramsAtOnce(t *testing.T) {
	t.Parallel()
	h := newHost(t, openLayer(t, filepath.Join(t.TempDir(), "root")), device(t, "INTEL"))
	var open []*layer.Ticket
	for n := range 20 {
		r := h.request(source(n), &none)
		r.Thread = n + 1
		ticket, _ := begun(t, h, r)
		open = append(open, ticket)
	}
	for _, ticket := range open {
		ticket.End()
	}
	if p := fmt.Sprint(h.build(source(3), &none)); p != "built" {
		t.Error(p)
	}
}

// What is found after a look at header files is told, and what was found of them is kept,
// by the time that the application goes on: it may end at once. Nobody waits long for
// that, so on a busy machine not each time.
func TestAHitAfterAScanIsTold(t *testing.T) {
	t.Parallel()
	root, dir := filepath.Join(t.TempDir(), "root"), t.TempDir()
	put := func(content string) {
		if err := os.WriteFile(filepath.Join(dir, "value.h"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("#define VALUE 1\n")
	options := "-I" + dir
	const text = "#include <value.h>\nkernel void k(global int *p) { p[0] = VALUE; }\n"
	l := openLayer(t, root)
	if p := newHost(t, l, device(t, "INTEL")).build(text, &options); p.String() != "built" {
		t.Fatalf("cold: %v, %s", p, p.reason)
	}
	l.Settle()
	for round := 1; ; round++ {
		for os.RemoveAll(filepath.Join(root, ".meta/manifests")) != nil {
			time.Sleep(time.Millisecond) // one is being written
		}
		l := openLayer(t, root)
		p := newHost(t, l, device(t, "INTEL")).build(text, &options)
		s := l.Cache.Stats()
		kept, _ := filepath.Glob(filepath.Join(root, ".meta/manifests/*/*"))
		if p.String() != "restored" {
			t.Fatalf("warm: %v, %s", p, p.reason)
		}
		if s[stats.HeadersScanned] == 1 && s[stats.DiskHits] == 1 && len(kept) == 1 {
			return
		}
		if l.Settle(); round == 20 {
			t.Fatalf("%d scans; %d hits were counted, %d manifests kept", s[stats.HeadersScanned], s[stats.DiskHits], len(kept))
		}
	}
}
