//go:build !nogpu

package runtimes

import (
	"context"
	"errors"
	"os"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/builder"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
)

// openclBuilder builds OpenCL C and SPIR-V for one device.
type openclBuilder struct {
	options    kernstash.Options
	of         builder.Options
	noOptions  bool
	device     *opencl.Device
	waits      string   // why a program is not stored without a launch; "" if it is
	localSizes [][3]int // to make code for; only on a driver that wants to know
	layers     []string // read-only roots
	context    *opencl.Context
	disk       *disk.Store
}

func openOpenCLBuilder(o builder.Options, device *opencl.Device) (builder.Builder, error) {
	c, err := opencl.Open(device)
	if err != nil {
		return nil, err
	}
	b := &openclBuilder{
		options: o.Cache, of: o, noOptions: o.NoOptions && device.TellsNoOptions(), device: device,
		context: c, disk: disk.New(o.Disk), layers: o.Layers,
	}
	if device.Kind() == opencl.Deferred {
		b.localSizes = o.LocalSizes
		if len(o.LocalSizes) == 0 {
			b.waits = "this driver makes code when a kernel is launched; say with --local-size how it will be"
		}
	}
	return b, nil
}

func (b *openclBuilder) Title() string { return deviceTitle(b.device) }

func (b *openclBuilder) Close() error { return errors.Join(b.context.Release(), b.disk.Close()) }

func (b *openclBuilder) Build(ctx context.Context, t builder.Task, r *builder.Result) error {
	source, err := os.ReadFile(t.File)
	if err != nil {
		return err
	}
	q := kernstash.Request{CompileOptions: b.of.CompileOptions(), NoOptions: b.noOptions}
	kind := key.OpenCLC
	if builder.IsSPIRV(t.File) {
		kind, q.CompileOptions = key.SPIRV, b.of.Options
	}
	if q.Image, err = kernstash.NewImage(kind, source); err != nil {
		return err
	}
	got, err := b.program(ctx, q, b.localSizes)
	if err == nil && got.Counts[stats.DiskHits] > 0 && len(b.localSizes) > 0 {
		if sizes, missing := b.missing(ctx, got.Key); missing {
			// The entry that is there is ready for other launches.
			if err := b.disk.Delete(ctx, got.Key); err != nil {
				return err
			}
			got, err = b.program(ctx, q, sizes)
		} else if b.layerLacks(ctx, got.Key) {
			r.State, r.Reason = builder.StateNotStored, "a read-only layer has it, but not ready for all of these local sizes"
			return nil
		}
	}
	if err != nil {
		return err
	}
	r.Judge(got)
	return nil
}

// program asks the cache for a program.
func (b *openclBuilder) program(ctx context.Context, q kernstash.Request, sizes [][3]int) (builder.Built, error) {
	return builder.ThroughCache(b.options, func(cache *kernstash.Cache, got *builder.Built) error {
		rt := opencl.NewRuntime(b.context, opencl.RuntimeOptions{SpecializeLocalSizes: sizes})
		p, err := kernstash.NewContext(cache, rt, kernstash.ContextOptions{}).Program(ctx, q)
		if err != nil {
			return err
		}
		got.Key, got.Against, got.Waits = p.Key(0), p.Against(), b.waits
		p.Release()
		return nil
	})
}
