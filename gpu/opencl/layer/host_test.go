//go:build !nogpu

package layer_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
	"github.com/kernstash/kernstash/gpu/opencl/layer"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// host does what shim/opencl does, in Go: it stands between a test, which is the
// application, and a real driver.
type host struct {
	l       *layer.Layer
	context *opencl.Context
	devices []*opencl.Device

	// refuse makes it not take the binary for a device, by its place.
	refuse map[int]bool
}

// program is what the application gets: the driver's program for each device.
type program struct {
	how      []string // of each device: "restored", "built"; "refused" before
	binaries [][]byte // of each device, as restored or built
	number   uint64
	reason   string // of Pass
	err      error  // of the build
	served   layer.Reply
}

func (p *program) String() string { return strings.Join(p.how, " ") }

func openLayer(t testing.TB, root string) *layer.Layer {
	t.Helper()
	l, err := layer.Open(at(root))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func newHost(t testing.TB, l *layer.Layer, devices ...*opencl.Device) *host {
	t.Helper()
	h, err := makeHost(l, devices...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.context.Release() })
	return h
}

func makeHost(l *layer.Layer, devices ...*opencl.Device) (*host, error) {
	c, err := opencl.Open(devices...)
	if err != nil {
		return nil, err
	}
	return &host{l: l, context: c, devices: devices}, nil
}

// entries are what a layer knows of a driver: the functions in its dispatch
// table, which its objects begin with.
func entries(d *opencl.Device) opencl.DriverEntries {
	table := dl.Word(d.Platform().Handle())
	return opencl.DriverEntries{
		Platform:        d.Platform().Handle(),
		GetPlatformInfo: dl.Word(table + 1*8), GetDeviceInfo: dl.Word(table + 3*8),
	}
}

// request is a build of a source for all of the host's devices.
func (h *host) request(source string, options *string) *layer.Request {
	r := &layer.Request{
		What: layer.Build, Driver: entries(h.devices[0]), Options: options, Environ: os.Environ,
		Units: []layer.Unit{{Kind: key.OpenCLC, Strings: [][]byte{[]byte(source)}}},
	}
	for _, d := range h.devices {
		r.Devices = append(r.Devices, d.Handle())
	}
	return r
}

var none = ""

// build is clBuildProgram under the layer.
func (h *host) build(source string, options *string) *program {
	return h.do(h.request(source, options))
}

func (h *host) do(r *layer.Request) *program {
	p := &program{how: make([]string, len(h.devices)), binaries: make([][]byte, len(h.devices))}
	ticket, reply, ok := h.l.Ask(r)
	for !ok {
		reply, ok = ticket.Wait(time.Second)
	}
	defer func() {
		if ticket != nil {
			ticket.End()
		}
	}()
	for reply.Action == front.Hit {
		p.served = reply
		outcomes := make([]layer.Outcome, len(h.devices))
		for i, a := range reply.Artifacts {
			if how := p.how[i]; how == "" || strings.HasSuffix(how, "refused") {
				outcomes[i] = h.one(p, i, r, a)
			}
		}
		reply, ok = ticket.Next(outcomes)
		for !ok {
			reply, ok = ticket.Wait(time.Second)
		}
	}
	p.number, p.reason = reply.Program, reply.Reason
	if reply.Action == front.Pass {
		p.how = []string{"passed"}
	}
	return p
}

// one restores or builds for one device.
func (h *host) one(p *program, i int, r *layer.Request, a layer.Artifact) layer.Outcome {
	begin := time.Now()
	say := func(how string) { p.how[i] = strings.TrimSpace(p.how[i] + " " + how) }
	devices := []cl.DeviceID{cl.DeviceID(h.devices[i].Handle())}
	context := cl.ContextID(h.context.Handle())
	if len(a.Binary) > 0 {
		if h.refuse[i] {
			say("refused")
			return layer.Outcome{Result: front.Refused}
		}
		id, err := cl.CreateProgramWithBinary(context, devices, a.Binary)
		if err == nil {
			err = cl.BuildProgram(id, devices, r.Options)
			defer func() { _ = cl.Status("clReleaseProgram", uintptr(id)) }()
		}
		if err != nil {
			say("refused")
			return layer.Outcome{Result: front.Refused}
		}
		say("restored")
		p.binaries[i] = append([]byte(nil), a.Binary...)
		return layer.Outcome{Result: front.Restored, Took: time.Since(begin)}
	}
	id, err := cl.CreateProgramWithSource(context, r.Units[0].Strings[0])
	if err != nil {
		p.err = err
		return layer.Outcome{Result: front.Abandoned}
	}
	defer func() { _ = cl.Status("clReleaseProgram", uintptr(id)) }()
	err = cl.BuildProgram(id, devices, r.Options)
	log, _ := cl.Info("clGetProgramBuildInfo", cl.ProgramBuildLog, uintptr(id), uintptr(devices[0]))
	built := layer.Artifact{Log: string(log)}
	if err != nil {
		p.err = err
		say("failed")
		return layer.Outcome{Result: front.Failed, Took: time.Since(begin), Artifact: built}
	}
	say("built")
	if a.Kind != opencl.Deferred {
		built.Binary, err = cl.GetProgramBinary(id, devices[0])
		if err != nil {
			p.err = err
		}
		p.binaries[i] = built.Binary
		names, _ := cl.Info("clGetProgramInfo", cl.ProgramKernelNames, uintptr(id))
		for _, name := range strings.Split(strings.TrimRight(string(names), "\x00"), ";") {
			built.Kernels = append(built.Kernels, store.Kernel{Name: name})
		}
	}
	return layer.Outcome{Result: front.Built, Took: time.Since(begin), Artifact: built}
}

// source returns a program of its own for each number.
func source(n int) string {
	return fmt.Sprintf("kernel void put%d(global int *p) { p[get_global_id(0)] = %d; }\n", n, n)
}

// at returns the options of a layer with a cache in a directory.
func at(root string) layer.Options {
	return layer.Options{Options: inprocess.Options{Settings: settings.Inputs{Program: map[string]string{"dir": root}}}}
}
