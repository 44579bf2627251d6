//go:build !nogpu

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/levelzero"
	"github.com/kernstash/kernstash/internal/demo"
	"github.com/kernstash/kernstash/key"
)

const levelzeroAdvice = "install a loader and a driver, on Debian or Ubuntu: apt-get install libze1 intel-opencl-icd " +
	"(from release 23 on: libze-intel-gpu1), and check the permissions of /dev/dri"

// levelzeroDevices returns every device of every driver. None is an error that says
// what to do.
func levelzeroDevices() ([]*levelzero.Device, error) {
	if !hasRuntimes {
		return nil, errNoRuntimes
	}
	devices, err := levelzero.Devices()
	if err == nil && len(devices) == 0 {
		err = errors.New("the drivers list no device")
	}
	if err != nil {
		return nil, fmt.Errorf("no Level Zero device: %w; %s", err, levelzeroAdvice)
	}
	return devices, nil
}

func levelzeroDemoDevices() ([]demoDevice, error) {
	all, err := levelzeroDevices()
	if err != nil {
		return nil, err
	}
	devices := make([]demoDevice, len(all))
	for i, d := range all {
		devices[i] = levelzeroDevice{d}
	}
	return devices, nil
}

type levelzeroDevice struct{ *levelzero.Device }

func (d levelzeroDevice) title() string { return d.Name }

// levelzeroMemory is where the buffers are.
type levelzeroMemory struct {
	context *levelzero.Context
	device  *levelzero.Device
	queue   *levelzero.Queue
}

func (m levelzeroMemory) release() error { return m.queue.Release() }

// do fills a list, and executes it to its end.
func (m levelzeroMemory) do(fill func(*levelzero.List) error) (err error) {
	l, err := m.context.NewList(m.device)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Release()) }()
	if err := fill(l); err != nil {
		return err
	}
	if err := l.Close(); err != nil {
		return err
	}
	if err := m.queue.Execute(l); err != nil {
		return err
	}
	return m.queue.Finish(context.Background())
}

// Buffer makes a buffer on the device, and one on the host to fill it from; the content
// is there when it returns.
func (m levelzeroMemory) Buffer(size int, content []byte) (demo.Buffer, error) {
	b := &levelzeroBuffer{memory: m}
	var err error
	if b.device, err = m.context.NewBuffer(m.device, levelzero.OnDevice, size); err != nil {
		return nil, err
	}
	if b.host, err = m.context.NewBuffer(m.device, levelzero.OnHost, size); err != nil {
		return nil, errors.Join(err, b.device.Release())
	}
	if len(content) > 0 {
		if err := b.write(content); err != nil {
			b.Release()
			return nil, err
		}
	}
	return b, nil
}

type levelzeroBuffer struct {
	memory       levelzeroMemory
	device, host *levelzero.Buffer
}

func (b *levelzeroBuffer) write(content []byte) error {
	staged, err := b.host.Bytes()
	if err != nil {
		return err
	}
	copy(staged, content)
	return b.memory.do(func(l *levelzero.List) error { return l.Copy(b.device, b.host, b.host.Size()) })
}

// Read waits for what was launched and returns the content.
func (b *levelzeroBuffer) Read() ([]byte, error) {
	err := b.memory.do(func(l *levelzero.List) error { return l.Copy(b.host, b.device, b.host.Size()) })
	if err != nil {
		return nil, err
	}
	staged, err := b.host.Bytes()
	return append([]byte(nil), staged...), err
}

// Release gives both back.
func (b *levelzeroBuffer) Release() { _, _ = b.device.Release(), b.host.Release() }

// levelzeroArgs turns the demonstration's arguments into the adapter's.
func levelzeroArgs(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		if b, ok := arg.(*levelzeroBuffer); ok {
			arg = b.device
		}
		out[i] = arg
	}
	return out
}

// levelzeroLaunch is a launch under way.
type levelzeroLaunch struct {
	list  *levelzero.List
	queue *levelzero.Queue
}

// launch executes a list with one launch, which fill adds.
func (m levelzeroMemory) launch(fill func(*levelzero.List) error) (l levelzeroLaunch, err error) {
	list, err := m.context.NewList(m.device)
	if err != nil {
		return l, err
	}
	if err = fill(list); err == nil {
		if err = list.Close(); err == nil {
			err = m.queue.Execute(list)
		}
	}
	if err != nil {
		return l, errors.Join(err, list.Release())
	}
	return levelzeroLaunch{list, m.queue}, nil
}

// release waits for the launch, if there was one.
func (l levelzeroLaunch) release() {
	if l.list != nil {
		_, _ = l.queue.Finish(context.Background()), l.list.Release()
	}
}

// shape returns the index space of a launch.
func shape(global, local []int) (r levelzero.Range) {
	copy(r.Groups[:], groups(global, local))
	r.Group = [3]int{1, 1, 1}
	copy(r.Group[:], local)
	return r
}

// levelzeroBare builds as an application without kernstash does.
type levelzeroBare struct{ levelzeroMemory }

func (d levelzeroDevice) bare() (demoMachine, error) {
	c, err := levelzero.Open(d.Device)
	if err != nil {
		return nil, err
	}
	q, err := c.NewQueue(d.Device)
	if err != nil {
		return nil, errors.Join(err, c.Release())
	}
	return &levelzeroBare{levelzeroMemory{c, d.Device, q}}, nil
}

func (m *levelzeroBare) close() error { return errors.Join(m.release(), m.context.Release()) }

// Build compiles with the driver.
func (m *levelzeroBare) Build(_ context.Context, p demo.Program) (demo.Built, error) {
	module, err := m.context.NewModule(m.device, levelzero.ModuleDesc{SPIRV: [][]byte{p.SPIRV}})
	if err != nil {
		return nil, err
	}
	return &levelzeroProgram{memory: m.levelzeroMemory, module: module}, nil
}

type levelzeroProgram struct {
	memory levelzeroMemory
	module *levelzero.Module
	kernel *levelzero.Kernel
	launch levelzeroLaunch
}

// Launch launches a kernel, once in the life of a program.
func (p *levelzeroProgram) Launch(kernel string, global, local []int, args ...any) (err error) {
	if p.kernel, err = p.module.NewKernel(kernel); err != nil {
		return err
	}
	p.launch, err = p.memory.launch(func(l *levelzero.List) error {
		return p.kernel.LaunchRange(l, shape(global, local), levelzeroArgs(args)...)
	})
	return err
}

func (p *levelzeroProgram) Release() {
	p.launch.release()
	if p.kernel != nil {
		_ = p.kernel.Release()
	}
	_ = p.module.Release()
}

// levelzeroCached builds through kernstash.
type levelzeroCached struct {
	levelzeroMemory
	cached *levelzero.Cached
}

func (d levelzeroDevice) cached(cache *kernstash.Cache) (demoMachine, error) {
	x, err := levelzero.NewContext(cache, d.Device)
	if err != nil {
		return nil, err
	}
	q, err := x.NewQueue(d.Device)
	if err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return &levelzeroCached{levelzeroMemory{x.Context, d.Device, q}, x}, nil
}

func (m *levelzeroCached) close() error { return errors.Join(m.release(), m.cached.Close()) }

// Build asks the cache. The image is made here, within what is measured.
func (m *levelzeroCached) Build(ctx context.Context, p demo.Program) (demo.Built, error) {
	image, err := kernstash.NewImage(key.SPIRV, p.SPIRV)
	if err != nil {
		return nil, err
	}
	got, err := m.cached.Program(ctx, kernstash.Request{Image: image})
	if err != nil {
		return nil, err
	}
	return &levelzeroCachedProgram{memory: m.levelzeroMemory, program: got}, nil
}

type levelzeroCachedProgram struct {
	memory  levelzeroMemory
	program *levelzero.CachedProgram
	launch  levelzeroLaunch
}

// Launch launches a kernel, once in the life of a program.
func (p *levelzeroCachedProgram) Launch(kernel string, global, local []int, args ...any) error {
	k, err := p.program.Kernel(context.Background(), kernel)
	if err != nil {
		return err
	}
	defer k.Release() // the program, which is held, keeps it
	p.launch, err = p.memory.launch(func(l *levelzero.List) error {
		return k.LaunchRange(l, shape(global, local), levelzeroArgs(args)...)
	})
	return err
}

func (p *levelzeroCachedProgram) Release() {
	p.launch.release()
	p.program.Release()
}
