//go:build !nogpu && linux

package layer_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/levelzero"
	"github.com/kernstash/kernstash/gpu/levelzero/layer"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/internal/settings"
)

var testdata string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

// run has the driver do without hardware, in a folder for the files that it writes then.
func run(m *testing.M) int {
	var err error
	if testdata, err = filepath.Abs("../testdata"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, v := range []string{"NEOReadDebugKeys=1", "SetCommandStreamReceiver=1", "ProductFamilyOverride=tgllp"} {
		name, value, _ := strings.Cut(v, "=")
		os.Setenv(name, value)
	}
	dir, err := os.MkdirTemp("", "kernstash-levelzero-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := os.Chdir(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func device(t testing.TB) *levelzero.Device {
	t.Helper()
	devices, err := levelzero.Devices()
	if err != nil {
		t.Fatalf("%v: apt-get install intel-opencl-icd libze1", err)
	}
	return devices[0]
}

func spirv(t testing.TB, name string) []byte {
	t.Helper()
	path := filepath.Join(testdata, name+".spv")
	if name == "scale" {
		path = filepath.Join(testdata, "../../opencl/testdata/scale.spv")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// host is an interposer, in Go, on the real driver.
type host struct {
	*layer.Layer
	context *levelzero.Context
	dir     string
}

func newHost(t testing.TB, dir string) *host {
	t.Helper()
	l, err := layer.Open(inprocess.Options{Settings: settings.Inputs{Program: map[string]string{"dir": dir}}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := levelzero.Open(device(t))
	if err != nil {
		t.Fatal(err)
	}
	h := &host{l, c, dir}
	t.Cleanup(func() { h.close(t) })
	return h
}

func (h *host) close(t testing.TB) {
	t.Helper()
	if err := errors.Join(h.Close(), h.context.Release()); err != nil {
		t.Error(err)
	}
}

func (h *host) entries(t testing.TB) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(h.dir, "*/*/*/*/*.bin"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// request is for modules of testdata.
func (h *host) request(t testing.TB, names ...string) *layer.Request {
	t.Helper()
	r := &layer.Request{Device: h.context.Devices()[0].Handle(), Environ: os.Environ}
	for _, name := range names {
		r.Modules = append(r.Modules, spirv(t, name))
	}
	return r
}

func (h *host) begin(t testing.TB, r *layer.Request) (*inprocess.Ticket, front.Step) {
	t.Helper()
	ticket, err := h.Ask(r)
	if err != nil {
		t.Fatal(err)
	}
	step, ok := ticket.Wait(inprocess.AtOnce)
	return ticket, h.await(t, ticket, step, ok)
}

func (h *host) await(t testing.TB, ticket *inprocess.Ticket, step front.Step, ok bool) front.Step {
	t.Helper()
	for start := time.Now(); !ok; step, ok = ticket.Wait(time.Millisecond) {
		if time.Since(start) > 3*time.Minute {
			t.Fatal("nothing to say")
		}
	}
	return step
}

func (h *host) next(t testing.TB, ticket *inprocess.Ticket, o front.Message) front.Step {
	t.Helper()
	reply, ok := ticket.Next(o)
	return h.await(t, ticket, reply, ok)
}

// ended returns how it ended, as C says it.
func ended(r front.Result, took time.Duration, what ...front.Field) front.Message {
	return append(what, front.Field{Tag: front.Ended, Detail: uint32(r), Number: uint64(took)})
}

// outcome does what a reply says, on the driver, and returns the code of the module, too.
func (h *host) outcome(t testing.TB, r *layer.Request, reply front.Step) (front.Message, []byte) {
	t.Helper()
	d := h.context.Devices()[0]
	desc := levelzero.ModuleDesc{SPIRV: r.Modules}
	if r.Flags != "" {
		desc.Flags = &r.Flags
	}
	if reply.Action == front.Hit {
		desc = levelzero.ModuleDesc{Native: reply.Message[0].Data, Flags: desc.Flags}
	}
	start := time.Now()
	m, err := h.context.NewModule(d, desc)
	took := time.Since(start)
	var refused *kernstash.BuildError
	switch {
	case err != nil && reply.Action == front.Hit:
		return ended(front.Refused, took), nil
	case errors.As(err, &refused):
		return ended(front.Failed, took, front.Field{Tag: front.Log, Data: front.String(refused.Log)}), nil
	case err != nil:
		t.Fatal(err)
	}
	defer m.Release()
	native, err := m.Native()
	if err != nil {
		t.Fatal(err)
	}
	if reply.Action == front.Hit {
		return ended(front.Restored, took), native
	}
	names, err := m.KernelNames()
	if err != nil {
		t.Fatal(err)
	}
	what := front.Message{{Tag: front.Binary, Data: native}, {Tag: front.Log, Data: front.String(m.Log())}}
	for _, name := range names {
		what = append(what, front.Field{Tag: front.Kernel, Data: front.String(name)})
	}
	return ended(front.Built, took, what...), native
}

// make makes a module, and returns the first action that was asked for, and the code of
// the module.
func (h *host) make(t testing.TB, r *layer.Request) (front.Action, []byte) {
	t.Helper()
	ticket, reply := h.begin(t, r)
	first := reply.Action
	var native []byte
	for reply.Action == front.Hit || reply.Action == front.Build {
		var o front.Message
		o, native = h.outcome(t, r, reply)
		reply = h.next(t, ticket, o)
	}
	if reply.Action != front.Done {
		t.Fatalf("%+v", reply)
	}
	ticket.End()
	h.Quiesce()
	if !h.Cache.Flush(3 * time.Minute) {
		t.Fatal("not stored in a minute")
	}
	return first, native
}
