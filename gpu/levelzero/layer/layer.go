// Package layer answers an interposer between an application and its Level Zero driver (shim/levelzero,
// through capi/kernstash_front.h): for each module of SPIR-V it says what native code to make it of, and
// takes what was built instead.
//
// It calls a driver only to ask what a device is. The interposer makes the modules; its thread drives the
// engine, as a kernstash.Context does, so keys, locks, coalescing and statistics are those of
// gpu/levelzero. Nothing is kept in memory once a module is made.
package layer

import (
	"context"
	"errors"
	"sync"

	"github.com/kernstash/kernstash/gpu/levelzero"
	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
)

// Layer answers for one process. It is a [front.Adapter], safe for concurrent use.
type Layer struct {
	inprocess.FrontEnd

	mu    sync.Mutex
	hosts map[uintptr]*host // by ze_device_handle_t
}

// Open opens the cache for the process. An error, which wraps inprocess.ErrOut, says why
// every module is the driver's own to build.
func Open(o inprocess.Options) (*Layer, error) {
	const name = "levelzero"
	g, err := inprocess.Open(o, name)
	if err != nil {
		return nil, err
	}
	l := &Layer{FrontEnd: g.FrontEnd(name), hosts: make(map[uintptr]*host)}
	l.Report(runlog.Event{Kind: runlog.Loaded})
	return l, nil
}

// host is a device that the engine asks, and its session. It lives as long as the process.
type host struct {
	cache.Process
	device  *levelzero.Device
	session *engine.Session
}

// Devices returns 1.
func (h *host) Devices() int { return 1 }

// Identify is that of the device.
func (h *host) Identify(context.Context, int) (key.Device, error) { return h.device.Identify() }

// Variables returns the environment variables that the device's compiler obeys.
func (h *host) Variables(int) ([]key.Pair, error) { return h.device.SteadyVariables() }

// host returns that of a request's device.
func (l *Layer) host(r *Request) (*host, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.hosts[r.Device]; known != nil {
		return known, nil
	}
	environ := inprocess.StartEnvironment
	if r.Environ != nil {
		environ = r.Environ
	}
	d, err := levelzero.Find(levelzero.Entries{Queries: r.Queries, Environ: environ()}, r.Device)
	if err != nil {
		return nil, err
	}
	h := &host{device: d}
	h.session = l.Cache.Engine().Session(h, engine.SessionOptions{OptionsAsGiven: true, Share: true, Decided: l.Decided})
	l.hosts[r.Device] = h
	return h, nil
}

// Begin implements [front.Adapter].
func (l *Layer) Begin(r *front.Request) (front.Session, front.Step, bool) {
	own, err := request(r.Message)
	if err != nil {
		l.pass(reason.PassedOther, err.Error())
		return nil, front.Step{}, true
	}
	t, err := l.begin(own)
	if err != nil {
		return nil, front.Step{}, true
	}
	step, ok := t.Wait(inprocess.AtOnce)
	return t, step, ok
}

// begin begins a request. An error says why it is passed through, which is counted.
func (l *Layer) begin(r *Request) (*inprocess.Ticket, error) {
	own, err := r.engine()
	var h *host
	if err == nil {
		h, err = l.host(r)
	}
	if err != nil {
		why := reason.PassedOther
		if errors.Is(err, errUnknown) {
			why = reason.PassedInputs
		}
		l.pass(why, err.Error())
		return nil, err
	}
	t := l.Ticket(h.session, own, nil)
	t.Serve, t.Outcome = served, outcome
	t.Passed = func() { _, _ = h.device.SteadyVariables() } // the compiler may keep what they are now
	return t, nil
}

// pass counts a request that is passed through. The driver compiles it, unless it is a binary.
func (l *Layer) pass(why reason.Reason, detail string) {
	if why != reason.PassedBinary {
		_ = drivers.SteadySwitches(dl.Environ()) // it notes them
	}
	l.Pass(why, detail)
}

// Tell counts what an interposer passed through by itself, for a reason.
func (l *Layer) Tell(_ uint32, event front.Message) {
	for _, f := range event {
		if f.Tag != front.Passed {
			continue
		}
		why := reason.PassedOther
		if f.Text() == runlog.ReasonBinary {
			why = reason.PassedBinary
		}
		l.pass(why, f.Text())
	}
}
