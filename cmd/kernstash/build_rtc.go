//go:build !nogpu

package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/rtc"
)

// rtcBuilder builds CUDA C++ with NVRTC, or HIP C++ with HIPRTC, for the architectures
// that it is told: no device, and no driver, has a part in it.
type rtcBuilder struct {
	of      buildOptions
	words   []string // of --options
	library *rtc.Library
}

func openRTCBuilder(o buildOptions, open func() (*rtc.Library, error)) (builder, error) {
	words, err := splitWords(o.options)
	if err != nil {
		return nil, usagef("--options %q: %v", o.options, err)
	}
	l, err := open()
	if err != nil {
		return nil, err
	}
	return &rtcBuilder{o, words, l}, nil
}

func (b *rtcBuilder) title() string { return rtcTitle(b.library) }

// rtcTitle returns "NVRTC 11.8".
func rtcTitle(l *rtc.Library) string {
	major, minor := l.Version()
	return fmt.Sprintf("%s %d.%d", strings.ToUpper(l.API().String()), major, minor)
}

func (b *rtcBuilder) close() error { return nil }

// request returns what an application would ask for.
func (b *rtcBuilder) request(t buildTask, source []byte) rtc.Request {
	r := rtc.Request{Source: source, Name: t.file, Expressions: b.of.expressions}
	if b.of.programName != nil {
		r.Name = *b.of.programName
	}
	for _, d := range b.of.defines {
		r.Options = append(r.Options, "-D"+d)
	}
	for _, dir := range b.of.includes {
		r.Options = append(r.Options, "-I"+dir)
	}
	if t.arch != "" {
		r.Options = append(r.Options, archOption(b.library.API())+t.arch)
	}
	r.Options = append(r.Options, b.words...)
	return r
}

func archOption(api rtc.API) string {
	if api == rtc.HIPRTC {
		return "--offload-arch="
	}
	return "--gpu-architecture="
}

func (b *rtcBuilder) build(ctx context.Context, t buildTask, r *buildResult) error {
	source, err := os.ReadFile(t.file)
	if err != nil {
		return err
	}
	request, err := b.library.Core(b.request(t, source))
	if err != nil {
		r.State, r.Reason = stateNotCacheable, strings.TrimPrefix(err.Error(), "request: ")
		if b.library.API() == rtc.HIPRTC && t.arch == "" {
			r.Reason += "; name one with --arch gfx90a"
		}
		return nil
	}
	got, err := throughCache(b.of.cache, func(cache *kernstash.Cache, got *built) error {
		p, err := rtc.NewCompiler(cache, b.library, kernstash.ContextOptions{}).Context().Program(ctx, request)
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
