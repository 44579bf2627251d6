package tool

import (
	"context"
	"errors"
	"os"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
)

// builder builds OpenCL C and SPIR-V for one device.
type builder struct {
	of         tool.BuildOptions
	noOptions  bool
	device     *opencl.Device
	waits      string   // why a program is not stored without a launch; "" if it is
	localSizes [][3]int // to make code for; only on a driver that wants to know
	context    *opencl.Context
	disk       *disk.Store
}

func open(d *opencl.Device, o tool.BuildOptions) (tool.Builder, error) {
	c, err := opencl.Open(d)
	if err != nil {
		return nil, err
	}
	b := &builder{of: o, noOptions: o.NoOptions && d.TellsNoOptions(), device: d, context: c, disk: disk.New(o.Disk)}
	if d.Kind() == opencl.Deferred {
		b.localSizes = o.LocalSizes
		if len(o.LocalSizes) == 0 {
			b.waits = "this driver makes code when a kernel is launched; say with --local-size how it will be"
		}
	}
	return b, nil
}

func (b *builder) Title() string { return title(b.device) }

func (b *builder) Close() error { return errors.Join(b.context.Release(), b.disk.Close()) }

func (b *builder) Build(ctx context.Context, f tool.File) (tool.Built, error) {
	code, err := os.ReadFile(f.Path)
	if err != nil {
		return tool.Built{}, err
	}
	q := kernstash.Request{CompileOptions: b.of.CompileOptions(), NoOptions: b.noOptions}
	if f.Kind == key.SPIRV {
		q.CompileOptions = b.of.Options
	}
	if q.Image, err = kernstash.NewImage(f.Kind, code); err != nil {
		return tool.Built{}, err
	}
	got, err := b.program(ctx, q, b.localSizes)
	if err != nil || got.Counts[stats.DiskHits] == 0 || len(b.localSizes) == 0 {
		return got, err
	}
	entry, err := b.disk.Get(ctx, got.Key)
	switch {
	case err == nil && !ready(entry.Artifact, b.localSizes): // but for other launches
		if err := b.disk.Delete(ctx, got.Key); err != nil {
			return got, err
		}
		return b.program(ctx, q, union(entry.Artifact, b.localSizes))
	case err != nil && b.layerLacks(ctx, got.Key):
		return tool.Built{NotStored: "a read-only layer has it, but not ready for all of these local sizes"}, nil
	}
	return got, nil
}

// program asks the cache for a program.
func (b *builder) program(ctx context.Context, q kernstash.Request, sizes [][3]int) (tool.Built, error) {
	return tool.ThroughCache(b.of.Cache, func(cache *kernstash.Cache, got *tool.Built) error {
		rt := opencl.NewRuntime(b.context, opencl.RuntimeOptions{SpecializeLocalSizes: sizes})
		p, err := kernstash.NewContext(cache, rt, kernstash.ContextOptions{}).Program(ctx, q)
		if err != nil {
			return err
		}
		got.Key, got.NotCacheable, got.NotStored = p.Key(0), p.Against(), b.waits
		p.Release()
		return nil
	})
}
