//go:build !nogpu

package layer_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
	"github.com/kernstash/kernstash/gpu/opencl/layer"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

// The two units of a program, with a header in memory.
const (
	callee = "#include \"value.h\"\nint value(int n) { return n + VALUE; }\n"
	caller = "int value(int n);\nkernel void k(global int *p) { *p = value(*p); }\n"
)

func unitsOf(value string, options *string) []layer.Unit {
	return []layer.Unit{
		{
			Kind: key.OpenCLC, Strings: [][]byte{[]byte(callee[:9]), []byte(callee[9:])},
			Headers: []key.Header{{Name: "value.h", Content: []byte("#define VALUE " + value + "\n")}}, Options: options,
		},
		{Kind: key.OpenCLC, Strings: [][]byte{[]byte(caller)}, Options: options},
	}
}

// link is clCompileProgram of each unit and clLinkProgram under the layer.
func (h *host) link(t *testing.T, units []layer.Unit, options *string) *program {
	t.Helper()
	r := h.request("", options)
	r.What, r.Units = layer.Link, units
	ticket, reply, ok := h.l.Ask(r)
	for !ok {
		reply, ok = ticket.Wait(time.Second)
	}
	p := &program{how: make([]string, 1), served: reply, reason: reply.Reason, binaries: make([][]byte, 1)}
	if reply.Action == front.Pass {
		p.how[0] = "passed"
		return p
	}
	defer ticket.End()
	if b := reply.Artifacts[0].Binary; len(b) > 0 {
		p.how[0], p.binaries[0] = "restored", b
		ticket.Next([]layer.Outcome{{Result: front.Restored}})
		return p
	}
	context, devices := cl.ContextID(h.context.Handle()), []cl.DeviceID{cl.DeviceID(h.devices[0].Handle())}
	var compiled []cl.ProgramID
	for _, u := range units {
		id, err := cl.CreateProgramWithSource(context, []byte(strings.Join(stringsOf(u.Strings), "")))
		if err != nil {
			t.Fatal(err)
		}
		var headers []cl.ProgramID
		var names []string
		for _, header := range u.Headers {
			hid, err := cl.CreateProgramWithSource(context, header.Content)
			if err != nil {
				t.Fatal(err)
			}
			headers, names = append(headers, hid), append(names, header.Name)
		}
		if err := cl.CompileProgram(id, devices, u.Options, headers, names); err != nil {
			t.Fatal(err)
		}
		compiled = append(compiled, id)
	}
	id, err := cl.LinkProgram(context, devices, options, compiled)
	if err != nil {
		t.Fatal(err)
	}
	b, err := cl.GetProgramBinary(id, devices[0])
	if err != nil {
		t.Fatal(err)
	}
	p.how[0], p.binaries[0] = "built", b
	ticket.Next([]layer.Outcome{{Result: front.Built, Artifact: layer.Artifact{Binary: b}}})
	return p
}

func stringsOf(b [][]byte) (s []string) {
	for _, x := range b {
		s = append(s, string(x))
	}
	return s
}

// A link of known units has the key that the Go library has for their sequence, and
// the header in memory is in it.
func TestLinkSharesEntriesWithTheLibrary(t *testing.T) {
	t.Parallel()
	d := device(t, "INTEL")
	root := filepath.Join(t.TempDir(), "root")
	l := openLayer(t, root)
	h := newHost(t, l, d)
	options := "-cl-mad-enable"
	for i, c := range []struct{ value, want string }{{"1", "built"}, {"1", "restored"}, {"2", "built"}} {
		if p := h.link(t, unitsOf(c.value, &options), &none); p.String() != c.want {
			t.Errorf("link %d: %v, want %s: %s", i, p, c.want, p.reason)
		}
		l.Settle()
		l.Cache.Flush(3 * time.Minute)
	}
	// Of a name that is there twice the order tells which one counts.
	swapped := unitsOf("2", &options)
	swapped[0], swapped[1] = swapped[1], swapped[0]
	if p := h.link(t, swapped, &none); p.String() != "built" {
		t.Errorf("in another order: %v, %s", p, p.reason)
	}

	x, cache := library(t, root, opencl.CachedOptions{}, d)
	set, err := kernstash.NewImageSequence(
		key.Unit{Kind: key.OpenCLC, Code: []byte(callee), Headers: []key.Header{{Name: "value.h", Content: []byte("#define VALUE 2\n")}}},
		key.Unit{Kind: key.OpenCLC, Code: []byte(caller)},
	)
	if err != nil {
		t.Fatal(err)
	}
	p, err := x.Program(t.Context(), kernstash.Request{Image: set, CompileOptions: options})
	if err != nil {
		t.Fatal(err)
	}
	if p.Origin() != kernstash.Disk {
		t.Errorf("the library has it %v", p.Origin())
	}
	p.Release()
	if err := errors.Join(x.Close(), cache.Close()); err != nil {
		t.Error(err)
	}
}

// Links whose inputs do not stand for themselves are the driver's.
func TestLinksThatArePassed(t *testing.T) {
	t.Parallel()
	l := openLayer(t, filepath.Join(t.TempDir(), "root"))
	h := newHost(t, l, device(t, "INTEL"))
	files := unitsOf("1", &none)
	files[0].Headers = nil // so value.h is a file
	mixed := unitsOf("1", &none)
	mixed[1].Options = ptr("-DX")
	constants := unitsOf("1", &none)
	constants[1].Constants = constant(1)
	for name, c := range map[string]struct {
		units   []layer.Unit
		options *string
	}{
		"files":     {files, &none},
		"options":   {mixed, &none},
		"constants": {constants, &none},
		"a library": {unitsOf("1", &none), ptr("-create-library")},
	} {
		if p := h.link(t, c.units, c.options); p.String() != "passed" || p.reason == "" {
			t.Errorf("%s: %v", name, p)
		}
	}
	if s := l.Cache.Stats(); s[stats.Of(reason.PassedInputs)] != 3 || s[stats.Of(reason.PassedOptions)] != 1 {
		t.Errorf("for their inputs %d, for their options %d; want 3 and 1", s[stats.Of(reason.PassedInputs)], s[stats.Of(reason.PassedOptions)])
	}
}

// Whether a unit compiles is known under a key of its own, on PoCL too.
func TestCompileIsKnown(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{"INTEL", "POCL"} {
		root := filepath.Join(t.TempDir(), "root")
		l := openLayer(t, root)
		h := newHost(t, l, device(t, suffix))
		r := h.request("", nil)
		r.What, r.Units = layer.Compile, unitsOf("1", &none)[:1]
		ticket, reply := begun(t, h, r)
		if len(reply.Artifacts[0].Binary) != 0 || reply.Artifacts[0].Kind != opencl.Deferred { // no binary is wanted
			t.Errorf("%s: unknown unit: %+v", suffix, reply)
		}
		ticket.Next([]layer.Outcome{{Result: front.Built, Artifact: layer.Artifact{Log: "a warning"}}})
		ticket.End()
		counted(t, l, stats.DiskPuts, 1)
		l.Settle()
		ticket, reply = begun(t, h, r)
		if a := reply.Artifacts[0]; string(a.Binary) != "\x01" || a.Log != "a warning" {
			t.Errorf("%s: known unit: %+v", suffix, a)
		}
		if r, _ := ticket.Next([]layer.Outcome{{Result: front.Restored}}); r.Action != front.Done || r.Program != 0 {
			t.Errorf("%s: %+v", suffix, r)
		}
		ticket.End()
		// It is not what a build or a link is served with.
		if p := h.link(t, unitsOf("1", &none)[:1], &none); p.String() == "restored" {
			t.Errorf("%s: a link is served with what says that its unit compiles", suffix)
		}
	}
}
