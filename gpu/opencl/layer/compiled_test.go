//go:build !nogpu

package layer_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
	"github.com/kernstash/kernstash/gpu/opencl/layer"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

// fileUnit is a unit of an application under the layer that reads a header file.
type fileUnit struct {
	unit layer.Unit
	id   cl.ProgramID // the driver's, restored where its compilation was skipped
	how  string
}

// compileUnit is clCompileProgram under the layer. meanwhile is called when the
// driver has compiled; may be nil.
func (h *host) compileUnit(t *testing.T, source string, meanwhile func()) *fileUnit {
	t.Helper()
	u := &fileUnit{unit: layer.Unit{Kind: key.OpenCLC, Strings: [][]byte{[]byte(source)}, Options: &none}, how: "known"}
	r := h.request("", nil)
	r.What, r.Units = layer.Compile, []layer.Unit{u.unit}
	ticket, reply := begun(t, h, r)
	defer ticket.End()
	outcome := layer.Outcome{Result: front.Restored}
	devices := []cl.DeviceID{cl.DeviceID(h.devices[0].Handle())}
	object := reply.Artifacts[0].Binary
	var err error
	if len(object) == 0 {
		if k := reply.Artifacts[0].Kind; k != opencl.Final {
			t.Errorf("what the compiler makes is not asked for: %v", k)
		}
		u.how, outcome.Result = "compiled", front.Built
		u.compile(t, h)
		if meanwhile != nil {
			meanwhile()
		}
		if outcome.Artifact.Binary, err = cl.GetProgramBinary(u.id, devices[0]); err != nil {
			t.Fatal(err)
		}
	} else if u.id, err = cl.CreateProgramWithBinary(cl.ContextID(h.context.Handle()), devices, object); err != nil {
		t.Fatal(err)
	}
	reply, ok := ticket.Next([]layer.Outcome{outcome})
	if !ok || reply.Action != front.Done {
		t.Fatalf("%+v", reply)
	}
	u.unit.Compiled = reply.Program
	return u
}

func (u *fileUnit) compile(t *testing.T, h *host) {
	t.Helper()
	var err error
	if u.id, err = cl.CreateProgramWithSource(cl.ContextID(h.context.Handle()), u.unit.Strings[0]); err != nil {
		t.Fatal(err)
	}
	if err := cl.CompileProgram(u.id, []cl.DeviceID{cl.DeviceID(h.devices[0].Handle())}, &none, nil, nil); err != nil {
		t.Fatal(err)
	}
}

// linkUnit is clLinkProgram of a unit under the layer: how it went, and the binary.
func (h *host) linkUnit(t *testing.T, u *fileUnit) (how string, binary []byte) {
	t.Helper()
	r := h.request("", &none)
	r.What, r.Units = layer.Link, []layer.Unit{u.unit}
	ticket, reply, ok := h.l.Ask(r)
	for !ok {
		reply, ok = ticket.Wait(time.Second)
	}
	if reply.Action == front.Pass {
		return "passed", nil
	}
	defer ticket.End()
	if b := reply.Artifacts[0].Binary; len(b) > 0 {
		ticket.Next([]layer.Outcome{{Result: front.Restored}})
		return "restored", bytes.Clone(b)
	}
	devices := []cl.DeviceID{cl.DeviceID(h.devices[0].Handle())}
	id, err := cl.LinkProgram(cl.ContextID(h.context.Handle()), devices, &none, []cl.ProgramID{u.id})
	if err != nil {
		t.Fatal(err)
	}
	if binary, err = cl.GetProgramBinary(id, devices[0]); err != nil {
		t.Fatal(err)
	}
	ticket.Next([]layer.Outcome{{Result: front.Built, Artifact: layer.Artifact{Binary: binary}}})
	return "built", binary
}

// A link means the header files that its unit was compiled with, whatever is on disk
// by then.
func TestLinkOfUnitsThatReadFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	header := filepath.Join(dir, "value.h")
	write := func(value int) {
		// By rename, as the grain of the clock hides what comes too soon.
		tmp := filepath.Join(dir, fmt.Sprint("new", value))
		if err := os.WriteFile(tmp, fmt.Appendf(nil, "#define VALUE %d\n", value), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(tmp, header); err != nil {
			t.Fatal(err)
		}
	}
	source := fmt.Sprintf("#include \"%s\"\nkernel void k(global int *p) { *p = VALUE; }\n", header)
	root := filepath.Join(t.TempDir(), "root")
	var h *host
	var l *layer.Layer
	start := func() { // another process, as far as the layer is concerned
		l = openLayer(t, root)
		h = newHost(t, l, device(t, "INTEL"))
	}
	settle := func() {
		l.Settle()
		l.Cache.Flush(3 * time.Minute)
	}
	expect := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	binaries := make(map[int][]byte)

	start()
	write(1)
	u := h.compileUnit(t, source, nil)
	expect("compile of 1", u.how, "compiled")
	settle()
	write(2)
	how, b := h.linkUnit(t, u)
	expect("link of 1, with 2 on disk", how, "built")
	binaries[1] = b
	settle()
	u = h.compileUnit(t, source, nil)
	expect("compile of 2", u.how, "compiled")
	how, binaries[2] = h.linkUnit(t, u)
	expect("link of 2", how, "built")
	settle()
	if bytes.Equal(binaries[1], binaries[2]) {
		t.Fatal("two values make one binary")
	}

	start()
	for _, value := range []int{1, 2} {
		write(value)
		u := h.compileUnit(t, source, nil)
		expect(fmt.Sprint("second start, compile of ", value), u.how, "known")
		write(10 + value)
		how, b := h.linkUnit(t, u)
		expect(fmt.Sprint("second start, link of ", value), how, "restored")
		if !bytes.Equal(b, binaries[value]) {
			t.Errorf("link of %d gives another program", value)
		}
		settle()
	}

	// Changed while it was compiled: nobody knows of what.
	write(3)
	u = h.compileUnit(t, source, func() { write(4) })
	if u.unit.Compiled != 0 {
		t.Error("a unit whose header changed while it was compiled is known")
	}
	how, _ = h.linkUnit(t, u)
	expect("link of it", how, "passed")
	if n := l.Cache.Stats()[stats.Of(reason.PassedInputs)]; n != 1 {
		t.Errorf("%d are counted", n)
	}

	// Known, its link not, and changed before that: the link is of what its compiler
	// made.
	write(5)
	settle()
	u = h.compileUnit(t, source, nil)
	expect("first compile of 5", u.how, "compiled")
	settle()
	u = h.compileUnit(t, source, nil)
	expect("compile of 5", u.how, "known")
	write(6)
	how, late := h.linkUnit(t, u)
	expect("link of 5, with 6 on disk", how, "built")
	write(7)
	_, seven := h.linkUnit(t, h.compileUnit(t, source, nil))
	write(5)
	settle()
	how, five := h.linkUnit(t, h.compileUnit(t, source, nil))
	expect("link of 5, with 5 on disk", how, "restored")
	if !bytes.Equal(late, five) || bytes.Equal(late, seven) {
		t.Error("a link of what was compiled before gives another program")
	}

	// Given up: it stands for nothing any more.
	l.Released(u.unit.Compiled)
	how, _ = h.linkUnit(t, u)
	expect("link of a unit that was given up", how, "passed")
}
