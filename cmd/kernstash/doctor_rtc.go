//go:build !nogpu

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/stats"
)

// errNoLibrary is wrapped where a library cannot be opened.
var errNoLibrary = dl.ErrNoLibrary

func checkNVRTC(ctx context.Context, r *doctorReport, quick bool) bool {
	return r.checkRTC(ctx, rtc.NVRTC, "NVRTC", nil, quick)
}

func checkHIPRTC(ctx context.Context, r *doctorReport, quick bool) bool {
	return r.checkRTC(ctx, rtc.HIPRTC, "HIPRTC", []string{"--offload-arch=gfx90a"}, quick)
}

// checkRTC looks at a library that compiles without a device.
func (r *doctorReport) checkRTC(ctx context.Context, api rtc.API, subject string, options []string, quick bool) bool {
	l, err := rtc.Open(api, "")
	if errors.Is(err, rtc.ErrNoLibrary) {
		r.add(subject, verdictInfo, "", "not here: %v", err)
		return false
	}
	if err != nil {
		r.add(subject, verdictFail, "install a newer one", "%v", err)
		return false
	}
	r.add(subject, verdictInfo, "", "%s, %s", rtcTitle(l), l.Path())
	identity, err := l.Identify()
	variables, _ := l.Variables()
	if !r.addIdentity(subject, identity, err, variables) {
		return false
	}
	return quick || r.addProbe(subject, func(dir string, want origin) (time.Duration, error) {
		return probeRTC(ctx, l, options, dir, want)
	})
}

// probeRTC compiles a program that nobody compiled before.
func probeRTC(ctx context.Context, l *rtc.Library, options []string, dir string, want origin) (took time.Duration, err error) {
	cache, err := kernstash.Open(probeOptions(dir))
	if err != nil {
		return 0, err
	}
	c := rtc.NewCompiler(cache, l, kernstash.ContextOptions{})
	defer func() { err = errors.Join(err, c.Close(), cache.Close()) }()
	start := time.Now()
	_, err = c.Compile(ctx, rtc.Request{
		Source: fmt.Appendf(nil, "// %s\nextern \"C\" __global__ void probe(float *x) { x[threadIdx.x] += 1.0f; }\n", dir),
		Name:   "probe.cu", Options: options,
	})
	took = time.Since(start)
	if err != nil {
		return 0, err
	}
	if err := checkFrom(cache.Stats(), want); err != nil {
		return 0, err
	}
	if want == fromCompiler {
		err = awaitCapture(ctx, cache, stats.Snapshot{})
	}
	return took, err
}
