//go:build !nogpu && linux

package layer_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/levelzero"
	"github.com/kernstash/kernstash/gpu/levelzero/layer"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

func dir(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "cache")
}

func TestColdAndWarm(t *testing.T) {
	t.Parallel()
	h := newHost(t, dir(t))
	for _, c := range []struct {
		name  string
		files []string
		flags string
	}{
		{"one", []string{"kernels"}, ""},
		{"with flags", []string{"kernels"}, "-ze-take-global-address"},
		{"several", []string{"imports", "exports"}, ""},
		{"several, in another order", []string{"exports", "imports"}, ""},
	} {
		r := h.request(t, c.files...)
		r.Flags = c.flags
		action, cold := h.make(t, r)
		if action != front.Build {
			t.Errorf("%s, cold: %d", c.name, action)
		}
		action, warm := h.make(t, r)
		if action != front.Hit || !bytes.Equal(cold, warm) {
			t.Errorf("%s, warm: %d, the same code: %v", c.name, action, bytes.Equal(cold, warm))
		}
	}
	if n := len(h.entries(t)); n != 4 {
		t.Errorf("%d entries", n)
	}
	if hits := h.Cache.Stats().Get(stats.DiskHits); hits != 4 {
		t.Errorf("%d hits", hits)
	}
}

// The interposer and the adapter ask for the same thing by the same key.
func TestKeysAreTheAdapters(t *testing.T) {
	t.Parallel()
	own := dir(t)
	h := newHost(t, own)
	cache, err := kernstash.Open(kernstash.Options{Dir: own})
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close()
	x := levelzero.NewCached(cache, h.context, kernstash.ContextOptions{})
	defer x.Close()
	value := new(uint32)
	*value = 5
	var pin runtime.Pinner
	pin.Pin(value)
	defer pin.Unpin()
	for _, c := range []struct {
		name      string
		files     []string
		flags     string
		constants []layer.Constant
		request   kernstash.Request
	}{
		{"one", []string{"exports"}, "", nil, kernstash.Request{}},
		{"with flags", []string{"exports"}, "-ze-opt-disable  -g", nil, kernstash.Request{CompileOptions: "-ze-opt-disable -g"}},
		{
			"constants",
			[]string{"scale"},
			"",
			[]layer.Constant{{ID: 7, At: uintptr(unsafe.Pointer(value))}},
			kernstash.Request{Constants: []key.SpecConstant{key.Uint32(7, 5)}},
		},
		{"several", []string{"imports", "exports"}, "", nil, kernstash.Request{}},
		{"several, in another order", []string{"exports", "imports"}, "", nil, kernstash.Request{}},
	} {
		r := h.request(t, c.files...)
		r.Flags, r.Constants = c.flags, c.constants
		var units []key.Unit
		for _, code := range r.Modules {
			units = append(units, key.Unit{Kind: key.SPIRV, Code: code})
		}
		if c.request.Image, err = kernstash.NewImageSet(units...); err != nil {
			t.Fatal(err)
		}
		c.request.Attributes = levelzero.Order(c.request.Image.Image, r.Modules)
		p, err := x.Program(context.Background(), c.request)
		if err != nil {
			t.Fatal(err)
		}
		if against := p.UncacheableReason(); against != "" {
			t.Errorf("%s: the adapter stores nothing: %s", c.name, against)
		}
		p.Release()
		if !cache.Flush(3 * time.Minute) {
			t.Errorf("%s: not stored in a minute", c.name)
		}
		ticket, reply := h.begin(t, r)
		if reply.Action != front.Hit {
			t.Errorf("%s: %+v, want what the adapter stored", c.name, reply)
		}
		ticket.End()
	}
}

func TestRefusedIsBuiltAnewAndReplaced(t *testing.T) {
	t.Parallel()
	h := newHost(t, dir(t))
	r := h.request(t, "kernels")
	h.make(t, r)
	ticket, reply := h.begin(t, r)
	if reply.Action != front.Hit {
		t.Fatalf("%+v", reply)
	}
	reply = h.next(t, ticket, ended(front.Refused, 0))
	if reply.Action != front.Build {
		t.Fatalf("refused: %+v", reply)
	}
	if n := len(h.entries(t)); n != 0 {
		t.Errorf("%d entries, the driver refused the one", n)
	}
	built, _ := h.outcome(t, r, reply)
	if reply = h.next(t, ticket, built); reply.Action != front.Done {
		t.Fatalf("%+v", reply)
	}
	ticket.End()
	h.Quiesce()
	h.Cache.Flush(3 * time.Minute)
	if action, _ := h.make(t, r); action != front.Hit {
		t.Errorf("%d", action)
	}
}

func TestFailedAndAbandonedAreNotStored(t *testing.T) {
	t.Parallel()
	h := newHost(t, dir(t))
	for i, o := range []front.Message{
		ended(front.Failed, 0, front.Field{Tag: front.Log, Data: []byte("no")}), ended(front.Abandoned, 0), ended(front.Restored, 0),
		ended(99, 0), ended(front.Built, 0),
		{{Tag: front.Device}},
	} {
		r := h.request(t, "exports")
		r.Flags = fmt.Sprintf("-ze-opt-level=%d", i) // a failure is known for a while
		ticket, reply := h.begin(t, r)
		if reply.Action != front.Build {
			t.Fatalf("%+v", reply)
		}
		if reply = h.next(t, ticket, o); reply.Action != front.Done {
			t.Errorf("%+v", reply)
		}
		ticket.End()
	}
	ticket, reply := h.begin(t, h.request(t, "exports"))
	if reply.Action != front.Build {
		t.Fatalf("%+v", reply)
	}
	ticket.End() // without a word
	native := ended(front.Built, time.Second, front.Field{Tag: front.Binary, Data: []byte("native")})
	if reply, ok := ticket.Next(native); !ok || reply.Action != front.Pass {
		t.Errorf("after its end: %+v", reply)
	}
	h.Quiesce()
	h.Cache.Flush(3 * time.Minute)
	if found := h.entries(t); len(found) != 0 {
		t.Errorf("%q", found)
	}
}

// Threads that ask for the same at the same time are served by one build; where that is
// given up the next one builds.
func TestThreadsAtOnce(t *testing.T) {
	t.Parallel()
	h := newHost(t, dir(t))
	first, reply := h.begin(t, h.request(t, "spills"))
	if reply.Action != front.Build {
		t.Fatalf("%+v", reply)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	actions := make(map[front.Action]int)
	for range 4 {
		all.Go(func() {
			action, _ := h.make(t, h.request(t, "spills"))
			mu.Lock()
			defer mu.Unlock()
			actions[action]++
		})
	}
	time.Sleep(50 * time.Millisecond)
	first.End()
	all.Wait()
	if actions[front.Build] != 1 || actions[front.Hit] != 3 {
		t.Errorf("%v", actions)
	}
}

func TestPassed(t *testing.T) {
	t.Parallel()
	h := newHost(t, dir(t))
	value := new(uint32)
	var pin runtime.Pinner
	pin.Pin(value)
	defer pin.Unpin()
	at := uintptr(unsafe.Pointer(value))
	for _, c := range []struct {
		name   string
		r      *layer.Request
		reason string
	}{
		{"nothing", &layer.Request{}, "the request makes no sense"},
		{"no such device", &layer.Request{Device: 8, Modules: [][]byte{spirv(t, "exports")}}, "no driver has it"},
		{"no SPIR-V", &layer.Request{Device: h.context.Devices()[0].Handle(), Modules: [][]byte{[]byte("kernel void f() {} // and more")}}, "not a module of SPIR-V"},
		{"images", h.request(t, "images"), "images"},
		{"a constant that is not there", &layer.Request{
			Device: h.context.Devices()[0].Handle(), Modules: [][]byte{spirv(t, "scale")}, Constants: []layer.Constant{{ID: 8, At: at}},
		}, "a specialization constant that the module has not"},
		{"constants of several", &layer.Request{
			Device: h.context.Devices()[0].Handle(), Modules: [][]byte{spirv(t, "scale"), spirv(t, "exports")}, Constants: []layer.Constant{{ID: 7, At: at}},
		}, "the request makes no sense"},
	} {
		if _, err := h.Ask(c.r); err == nil || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	h.Tell(0, front.Message{{Tag: front.Passed, Data: []byte("native")}})
	if n := h.Cache.Stats().Get(stats.Of(reason.PassedOther)); n != 6 {
		t.Errorf("%d counted", n)
	}
	if n := h.Cache.Stats().Get(stats.Of(reason.PassedInputs)); n != 1 {
		t.Errorf("%d counted", n)
	}
}

func TestOutOfTheProcess(t *testing.T) {
	t.Parallel()
	if l, err := layer.Open(inprocess.Options{Settings: settings.Inputs{Program: map[string]string{"dir": dir(t), "persistent": "0"}}}); err == nil {
		t.Error("it is in, with nothing to restore from")
		l.Close()
	}
	if _, err := os.Stat(dir(t)); err == nil {
		t.Error("it made a directory")
	}
}
