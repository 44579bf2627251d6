// Package tool describes Level Zero to the command.
package tool

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/levelzero"
	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/key"
)

// Runtime is Level Zero.
var Runtime = tool.Runtime{
	Name: "levelzero", Title: "Level Zero",
	Advice: "Intel's driver (libze1 intel-opencl-icd)",
	Caches: []string{"NEO_CACHE_DIR"},
	Peer:   "driver's cache",
	Note: "Driver's cache: kernstash switched off, the driver's own cache (l0_cache) filled by another process; some\n" +
		"releases keep none for SPIR-V.",
	Files: []key.Kind{key.SPIRV},
	Help: "  .spv   SPIR-V, for a Level Zero device, or another one that takes it: --runtime\n" +
		"         says for which, else it is the first of these that is here\n",
	Compilers: []tool.Compiler{
		{Files: []string{"libze_loader.so"}, Name: "Level Zero loader", Served: true, Text: tool.ServedByRun, FrontEnd: "levelzero"},
		{
			Files: []string{"libsycl.so"}, Name: "SYCL runtime", Served: true,
			Text: "served by 'kernstash run' where it goes through a runtime that is",
		},
	},
	Examine: examine,
	Devices: func() (all []tool.Device, err error) {
		here, err := found()
		for _, d := range here {
			all = append(all, device(d))
		}
		return all, err
	},
	Identities: func() (all []key.Device, err error) {
		here, err := found()
		for _, d := range here {
			if id, err := d.Identify(); err == nil {
				all = append(all, id)
			}
		}
		return all, err
	},
}

// found returns every device of every driver.
func found() ([]*levelzero.Device, error) {
	all, err := levelzero.Devices()
	if err == nil && len(all) == 0 {
		err = errors.New("the drivers list no device")
	}
	if err != nil {
		return nil, fmt.Errorf("no Level Zero device: %w; install a loader and a driver, on Debian or Ubuntu: apt-get install libze1 intel-opencl-icd "+
			"(from release 23 on: libze-intel-gpu1), and check the permissions of /dev/dri", err)
	}
	return all, nil
}

func device(d *levelzero.Device) tool.Device {
	return tool.Device{
		Title: d.Name, Takes: []key.Kind{key.SPIRV},
		Open: func(o tool.BuildOptions) (tool.Builder, error) { return open(d, o) },
		Run:  func(c *kernstash.Cache) (*tool.Machine, error) { return run(c, d) },
	}
}

func examine() []tool.Subject {
	const name = "Level Zero"
	devices, err := levelzero.Devices()
	switch {
	case errors.Is(err, levelzero.ErrUnavailable):
		return tool.Only(name, tool.Info, "", "not here: %v", err)
	case err != nil:
		return tool.Only(name, tool.Warn, "check the driver, its environment, and the permissions of /dev/dri", "%v", err)
	case len(devices) == 0:
		return tool.Only(name, tool.Info, "", "not here: the drivers list no device")
	}
	var all []tool.Subject
	for i, d := range devices {
		s := tool.Subject{Name: fmt.Sprintf("Level Zero device %d, %s", i, d.Name)}
		s.Add(tool.Info, "", "%v, driver %s, Level Zero %s, %d compute units", d.Type, d.Driver().Version, d.Driver().APIVersion, d.Limits.ComputeUnits)
		s.Target = &tool.Target{Variables: d.Variables(), IsDevice: true, Run: device(d).Run}
		s.Target.Identity, s.Target.Err = d.Identify()
		if d.SPIRV == "" {
			s.Add(tool.Info, "", "takes no SPIR-V, so nothing is compiled for it")
			s.Target.Bypassed = true
		}
		all = append(all, s)
	}
	return all
}

// builder builds SPIR-V for one device.
type builder struct {
	of      tool.BuildOptions
	device  *levelzero.Device
	context *levelzero.Context
}

func open(d *levelzero.Device, o tool.BuildOptions) (tool.Builder, error) {
	c, err := levelzero.Open(d)
	if err != nil {
		return nil, err
	}
	return &builder{o, d, c}, nil
}

func (b *builder) Title() string { return "Level Zero/" + b.device.Name }

func (b *builder) Close() error { return b.context.Release() }

func (b *builder) Build(ctx context.Context, f tool.File) (tool.Built, error) {
	code, err := os.ReadFile(f.Path)
	if err != nil {
		return tool.Built{}, err
	}
	image, err := kernstash.NewImage(f.Kind, code)
	if err != nil {
		return tool.Built{}, err
	}
	return tool.ThroughCache(b.of.Cache, func(cache *kernstash.Cache) (*levelzero.CachedProgram, error) {
		x := levelzero.NewCached(cache, b.context, kernstash.ContextOptions{})
		return x.Program(ctx, kernstash.Request{Image: image, CompileOptions: b.of.Options})
	})
}

func run(cache *kernstash.Cache, d *levelzero.Device) (*tool.Machine, error) {
	c, err := levelzero.NewContext(cache, d)
	if err != nil {
		return nil, err
	}
	q, err := c.NewQueue(d)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &tool.Machine{
		NewBuffer: func(size int) (*tool.Buffer, error) {
			b, err := c.NewBuffer(d, levelzero.Shared, size)
			if err != nil {
				return nil, err
			}
			content, err := b.Bytes()
			write := func(_ *levelzero.Buffer, _ int, p []byte) error { copy(content, p); return nil }
			return tool.BufferOf(size, b, err, write, func(_ *levelzero.Buffer, _ int, p []byte) error { copy(p, content); return nil })
		},
		NewProgram: func(ctx context.Context, code tool.Code) (tool.Program, error) {
			image, err := kernstash.NewImage(key.SPIRV, code.Texts[key.SPIRV])
			if err != nil {
				return nil, err
			}
			got, err := c.Program(ctx, kernstash.Request{Image: image})
			return tool.ProgramOf(got, err, func(k *levelzero.CachedKernel, global, local []int, args []any) error {
				r := levelzero.Range{Group: [3]int{1, 1, 1}}
				copy(r.Groups[:], tool.Groups(global, local))
				copy(r.Group[:], local)
				l, err := c.NewList(d)
				if err != nil {
					return err
				}
				// Shared memory is the host's again when all of it was executed.
				for _, step := range []func() error{
					func() error { return k.Native().LaunchRange(l, r, args...) }, l.Close,
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
