//go:build !nogpu

package main

import (
	"context"
	"errors"
	"os"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
)

// openclBuilder builds OpenCL C and SPIR-V for one device.
type openclBuilder struct {
	options    kernstash.Options
	of         buildOptions
	noOptions  bool
	device     *opencl.Device
	waits      string   // why a program is not stored without a launch; "" if it is
	localSizes [][3]int // to make code for; only on a driver that wants to know
	layers     []string // read-only roots
	context    *opencl.Context
	disk       *disk.Store
}

func openOpenCLBuilder(o buildOptions, device *opencl.Device) (builder, error) {
	c, err := opencl.Open(device)
	if err != nil {
		return nil, err
	}
	b := &openclBuilder{
		options: o.cache, of: o, noOptions: o.noOptions && device.TellsNoOptions(), device: device,
		context: c, disk: disk.New(o.disk), layers: o.layers,
	}
	if device.Kind() == opencl.Deferred {
		b.localSizes = o.localSizes
		if len(o.localSizes) == 0 {
			b.waits = "this driver makes code when a kernel is launched; say with --local-size how it will be"
		}
	}
	return b, nil
}

func (b *openclBuilder) title() string { return deviceTitle(b.device) }

func (b *openclBuilder) close() error { return errors.Join(b.context.Release(), b.disk.Close()) }

func (b *openclBuilder) build(ctx context.Context, t buildTask, r *buildResult) error {
	source, err := os.ReadFile(t.file)
	if err != nil {
		return err
	}
	q := kernstash.Request{CompileOptions: b.of.compileOptions(), NoOptions: b.noOptions}
	kind := key.OpenCLC
	if isSPIRV(t.file) {
		kind, q.CompileOptions = key.SPIRV, b.of.options
	}
	if q.Image, err = kernstash.NewImage(kind, source); err != nil {
		return err
	}
	got, err := b.program(ctx, q, b.localSizes)
	if err == nil && got.counts[stats.DiskHits] > 0 && len(b.localSizes) > 0 {
		if sizes, missing := b.missing(ctx, got.key); missing {
			// The entry that is there is ready for other launches.
			if err := b.disk.Delete(ctx, got.key); err != nil {
				return err
			}
			got, err = b.program(ctx, q, sizes)
		} else if b.layerLacks(ctx, got.key) {
			r.State, r.Reason = stateNotStored, "a read-only layer has it, but not ready for all of these local sizes"
			return nil
		}
	}
	if err != nil {
		return err
	}
	r.judge(got)
	return nil
}

// program asks the cache for a program.
func (b *openclBuilder) program(ctx context.Context, q kernstash.Request, sizes [][3]int) (built, error) {
	return throughCache(b.options, func(cache *kernstash.Cache, got *built) error {
		rt := opencl.NewRuntime(b.context, opencl.RuntimeOptions{SpecializeLocalSizes: sizes})
		p, err := kernstash.NewContext(cache, rt, kernstash.ContextOptions{}).Program(ctx, q)
		if err != nil {
			return err
		}
		got.key, got.against, got.waits = p.Key(0), p.Against(), b.waits
		p.Release()
		return nil
	})
}
