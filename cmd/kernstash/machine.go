package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/demo"
	"github.com/kernstash/kernstash/stats"
)

// machineRuntime is a runtime that the programs of package demo run on.
type machineRuntime struct {
	name, title string
	peer, note  string // the demonstration's column of the driver alone, and a sentence about it
	devices     func() ([]machineDevice, error)
}

// machineDevice is a device of a runtime. Its machine is closed before the cache.
type machineDevice struct {
	title string // what --device is compared with
	open  func(*kernstash.Cache) (*machine, error)
}

// machine is a demo.Machine of any runtime, over a cache.
type machine struct {
	buffer func(size int) (*machineBuffer, error)
	build  func(context.Context, demo.Program) (demo.Built, error)
	close  func() error
}

type machineBuffer struct {
	handle      any // what a launch takes
	size        int
	write, read func([]byte) error
	release     func() error
}

type machineProgram struct {
	release func()
	launch  func(kernel string, global, local []int, args []any) error
}

func (m *machine) Buffer(size int, content []byte) (demo.Buffer, error) {
	b, err := m.buffer(size)
	if err != nil || len(content) == 0 {
		return b, err
	}
	if err := b.write(content); err != nil {
		return nil, errors.Join(err, b.release())
	}
	return b, nil
}

func (m *machine) Build(ctx context.Context, p demo.Program) (demo.Built, error) {
	return m.build(ctx, p)
}

func (b *machineBuffer) Read() ([]byte, error) {
	content := make([]byte, b.size)
	return content, b.read(content)
}

func (b *machineBuffer) Release() { _ = b.release() }

func (p machineProgram) Launch(kernel string, global, local []int, args ...any) error {
	args = slices.Clone(args)
	for i := range args {
		if b, ok := args[i].(*machineBuffer); ok {
			args[i] = b.handle
		}
	}
	return p.launch(kernel, global, local, args)
}

func (p machineProgram) Release() { p.release() }

// machineNames are the names of runtimes that --runtime takes.
var machineNames = []string{"opencl", "cuda", "levelzero"}

// findDevice returns the device that choice means, the first one if it is empty, of the
// runtime of a name; if that is empty, of the first runtime that has a device.
func findDevice(runtime, choice string) (rt machineRuntime, d machineDevice, failed error) {
	for _, rt := range machineRuntimes {
		if runtime != "" && runtime != rt.name {
			continue
		}
		devices, err := rt.devices()
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		d, err := pickDevice(devices, func(d machineDevice) string { return d.title }, choice)
		return rt, d, err
	}
	if runtime == "" {
		failed = fmt.Errorf("no runtime has a device:\n%w", failed)
	}
	return rt, d, failed
}

func checkRuntime(name string) error {
	if name == "" || slices.Contains(machineNames, name) {
		return nil
	}
	return usagef("--runtime %s: want one of %s", name, strings.Join(machineNames, ", "))
}

// origin says where a program came from.
type origin string

// The origins.
const (
	fromCompiler origin = "compiled"
	fromDisk     origin = "disk"
	fromMemory   origin = "memory"
)

// answeredFrom reads from what was counted where an answer came from.
func answeredFrom(s stats.Snapshot) origin {
	switch {
	case s[stats.Builds] > 0:
		return fromCompiler
	case s[stats.DiskHits] > 0:
		return fromDisk
	case s[stats.MemoryHits] > 0:
		return fromMemory
	}
	return ""
}

// captureWait bounds the wait for a capture: PoCL compiles each kernel again
// for it, which takes as long as the build did.
const captureWait = time.Minute

// awaitCapture waits until what was built since before is captured and stored,
// where the driver makes it wait for a launch, and given up where not.
func awaitCapture(ctx context.Context, cache *kernstash.Cache, before stats.Snapshot) error {
	for deadline := time.Now().Add(captureWait); time.Now().Before(deadline); {
		s := cache.Stats().Sub(before)
		if s[stats.DiskPuts]+s[stats.DiskPutsBettered]+s[stats.DiskPutsExisting] > 0 {
			return nil
		}
		if n := s[stats.CapturesDropped] + s[stats.DiskPutsDropped] + s[stats.DiskPutFailures]; n > 0 {
			return errors.New("compiled, but it could not be stored")
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return fmt.Errorf("compiled, but it was not stored within %v", captureWait)
}
