//go:build !nogpu

package main

import (
	"context"
	"os"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/levelzero"
	"github.com/kernstash/kernstash/key"
)

// levelzeroBuilder builds SPIR-V for one device.
type levelzeroBuilder struct {
	of      buildOptions
	device  *levelzero.Device
	context *levelzero.Context
}

func openLevelZeroBuilder(o buildOptions, device *levelzero.Device) (builder, error) {
	c, err := levelzero.Open(device)
	if err != nil {
		return nil, err
	}
	return &levelzeroBuilder{o, device, c}, nil
}

func (b *levelzeroBuilder) title() string { return "Level Zero/" + b.device.Name }

func (b *levelzeroBuilder) close() error { return b.context.Release() }

func (b *levelzeroBuilder) build(ctx context.Context, t buildTask, r *buildResult) error {
	code, err := os.ReadFile(t.file)
	if err != nil {
		return err
	}
	image, err := kernstash.NewImage(key.SPIRV, code)
	if err != nil {
		return err
	}
	got, err := throughCache(b.of.cache, func(cache *kernstash.Cache, got *built) error {
		x := levelzero.NewCached(cache, b.context, kernstash.ContextOptions{})
		p, err := x.Program(ctx, kernstash.Request{Image: image, CompileOptions: b.of.options})
		if err != nil {
			return err
		}
		got.against = p.Against()
		p.Release()
		return nil
	})
	if err != nil {
		return err
	}
	r.judge(got)
	return nil
}
