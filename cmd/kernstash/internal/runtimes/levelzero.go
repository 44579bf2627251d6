//go:build !nogpu

package runtimes

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/builder"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/demo/programs"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/doctor"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/machine"
	"github.com/kernstash/kernstash/gpu/levelzero"
	"github.com/kernstash/kernstash/key"
)

// levelzeroBuilder builds SPIR-V for one device.
type levelzeroBuilder struct {
	of      builder.Options
	device  *levelzero.Device
	context *levelzero.Context
}

func openLevelZeroBuilder(o builder.Options, device *levelzero.Device) (builder.Builder, error) {
	c, err := levelzero.Open(device)
	if err != nil {
		return nil, err
	}
	return &levelzeroBuilder{o, device, c}, nil
}

func (b *levelzeroBuilder) Title() string { return "Level Zero/" + b.device.Name }

func (b *levelzeroBuilder) Close() error { return b.context.Release() }

func (b *levelzeroBuilder) Build(ctx context.Context, t builder.Task, r *builder.Result) error {
	code, err := os.ReadFile(t.File)
	if err != nil {
		return err
	}
	image, err := kernstash.NewImage(key.SPIRV, code)
	if err != nil {
		return err
	}
	got, err := builder.ThroughCache(b.of.Cache, func(cache *kernstash.Cache, got *builder.Built) error {
		x := levelzero.NewCached(cache, b.context, kernstash.ContextOptions{})
		p, err := x.Program(ctx, kernstash.Request{Image: image, CompileOptions: b.of.Options})
		if err != nil {
			return err
		}
		got.Against = p.Against()
		p.Release()
		return nil
	})
	if err != nil {
		return err
	}
	r.Judge(got)
	return nil
}

func findLevelZero(o builder.Options) (builder.Builder, error) {
	devices, err := levelzeroDevices()
	if err != nil {
		return nil, err
	}
	d, err := machine.Pick(devices, func(d *levelzero.Device) string { return d.Name }, o.Device)
	if err != nil {
		return nil, err
	}
	return openLevelZeroBuilder(o, d)
}

const levelzeroAdvice = "install a loader and a driver, on Debian or Ubuntu: apt-get install libze1 intel-opencl-icd " +
	"(from release 23 on: libze-intel-gpu1), and check the permissions of /dev/dri"

// levelzeroDevices returns every device of every driver. None is an error that says
// what to do.
func levelzeroDevices() ([]*levelzero.Device, error) {
	devices, err := levelzero.Devices()
	if err == nil && len(devices) == 0 {
		err = errors.New("the drivers list no device")
	}
	if err != nil {
		return nil, fmt.Errorf("no Level Zero device: %w; %s", err, levelzeroAdvice)
	}
	return devices, nil
}

func checkLevelZero(ctx context.Context, r *doctor.Report, quick bool) bool {
	const subject = "Level Zero"
	devices, err := levelzero.Devices()
	switch {
	case errors.Is(err, levelzero.ErrUnavailable):
		r.Add(subject, doctor.Info, "", "not here: %v", err)
		return false
	case err != nil:
		r.Add(subject, doctor.Warn, "check the driver, its environment, and the permissions of /dev/dri", "%v", err)
		return false
	case len(devices) == 0:
		r.Add(subject, doctor.Info, "", "not here: the drivers list no device")
		return false
	}
	works := false
	for i, d := range devices {
		r.HasDevice()
		subject := fmt.Sprintf("Level Zero device %d, %s", i, d.Name)
		r.Add(subject, doctor.Info, "", "%v, driver %s, Level Zero %s, %d compute units", d.Type, d.Driver().Version, d.Driver().APIVersion, d.Limits.ComputeUnits)
		identity, err := d.Identify()
		ok := r.AddIdentity(subject, identity, err, d.Variables())
		switch {
		case d.SPIRV == "":
			r.Add(subject, doctor.Info, "", "takes no SPIR-V, so nothing is compiled for it")
			ok = false
		case ok && !quick:
			ok = r.AddProbe(subject, doctor.ProbeDevice(ctx, levelzeroMachine, d))
		}
		works = works || ok
	}
	return works
}

func levelzeroMachine(cache *kernstash.Cache, d *levelzero.Device) (*machine.Machine, error) {
	c, err := levelzero.NewContext(cache, d)
	if err != nil {
		return nil, err
	}
	q, err := c.NewQueue(d)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &machine.Machine{
		NewBuffer: func(size int) (*machine.Buffer, error) {
			b, err := c.NewBuffer(d, levelzero.Shared, size)
			if err != nil {
				return nil, err
			}
			content, err := b.Bytes()
			write := func(_ *levelzero.Buffer, _ int, p []byte) error { copy(content, p); return nil }
			return machine.BufferOf(size, b, err, write, func(_ *levelzero.Buffer, _ int, p []byte) error { copy(p, content); return nil })
		},
		NewProgram: func(ctx context.Context, p programs.Program) (programs.Built, error) {
			image, err := kernstash.NewImage(key.SPIRV, p.SPIRV)
			if err != nil {
				return nil, err
			}
			got, err := c.Program(ctx, kernstash.Request{Image: image})
			return machine.ProgramOf(got, err, func(k *levelzero.CachedKernel, global, local []int, args []any) error {
				r := levelzero.Range{Group: [3]int{1, 1, 1}}
				copy(r.Groups[:], groups(global, local))
				copy(r.Group[:], local)
				l, err := c.NewList(d)
				if err != nil {
					return err
				}
				// Shared memory is the host's again when all of it was executed.
				for _, step := range []func() error{
					func() error { return k.LaunchRange(l, r, args...) }, l.Close,
					func() error { return q.Execute(l) }, func() error { return q.Finish(ctx) },
				} {
					if err = step(); err != nil {
						break
					}
				}
				return errors.Join(err, l.Release())
			})
		},
		Close: func() error { return errors.Join(q.Release(), c.Close()) },
	}, nil
}
