//go:build !nogpu

package runtimes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/builder"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/doctor"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/machine"
	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/stats"
)

// rtcBuilder builds CUDA C++ with NVRTC, or HIP C++ with HIPRTC, for the architectures
// that it is told: no device, and no driver, has a part in it.
type rtcBuilder struct {
	of      builder.Options
	words   []string // of --options
	library *rtc.Library
}

func openRTCBuilder(o builder.Options, open func() (*rtc.Library, error)) (builder.Builder, error) {
	words, err := builder.SplitWords(o.Options)
	if err != nil {
		return nil, cli.Usagef("--options %q: %v", o.Options, err)
	}
	l, err := open()
	if err != nil {
		return nil, err
	}
	return &rtcBuilder{o, words, l}, nil
}

func (b *rtcBuilder) Title() string { return rtcTitle(b.library) }

// rtcTitle returns "NVRTC 11.8".
func rtcTitle(l *rtc.Library) string {
	major, minor := l.Version()
	return fmt.Sprintf("%s %d.%d", strings.ToUpper(l.API().String()), major, minor)
}

func (b *rtcBuilder) Close() error { return nil }

// request returns what an application would ask for.
func (b *rtcBuilder) request(t builder.Task, source []byte) rtc.Request {
	r := rtc.Request{Source: source, Name: t.File, Expressions: b.of.Expressions}
	if b.of.ProgramName != nil {
		r.Name = *b.of.ProgramName
	}
	for _, d := range b.of.Defines {
		r.Options = append(r.Options, "-D"+d)
	}
	for _, dir := range b.of.Includes {
		r.Options = append(r.Options, "-I"+dir)
	}
	if t.Arch != "" {
		r.Options = append(r.Options, archOption(b.library.API())+t.Arch)
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

func (b *rtcBuilder) Build(ctx context.Context, t builder.Task, r *builder.Result) error {
	source, err := os.ReadFile(t.File)
	if err != nil {
		return err
	}
	request, err := b.library.Core(b.request(t, source))
	if err != nil {
		r.State, r.Reason = builder.StateNotCacheable, strings.TrimPrefix(err.Error(), "request: ")
		if b.library.API() == rtc.HIPRTC && t.Arch == "" {
			r.Reason += "; name one with --arch gfx90a"
		}
		return nil
	}
	got, err := builder.ThroughCache(b.of.Cache, func(cache *kernstash.Cache, got *builder.Built) error {
		p, err := rtc.NewCompiler(cache, b.library, kernstash.ContextOptions{}).Context().Program(ctx, request)
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

// The packages that hold the libraries, for people who have not got them.
const (
	nvrtcAdvice  = "install NVIDIA's NVRTC (on Debian: apt-get install libnvrtc11.2, of the component non-free; else the CUDA toolkit, or pip install nvidia-cuda-nvrtc), or put its directory into LD_LIBRARY_PATH"
	hiprtcAdvice = "install AMD's HIPRTC (on Debian or Ubuntu: apt-get install libamdhip64-5; else ROCm), or put its directory into LD_LIBRARY_PATH"
)

// openNVRTC opens the NVRTC that the dynamic linker finds. The error says what to do.
func openNVRTC() (*rtc.Library, error) { return openCompiler(rtc.NVRTC, nvrtcAdvice) }

// openHIPRTC opens the HIPRTC that the dynamic linker finds. The error says what to do.
func openHIPRTC() (*rtc.Library, error) { return openCompiler(rtc.HIPRTC, hiprtcAdvice) }

func openCompiler(api rtc.API, advice string) (*rtc.Library, error) {
	if !cli.HasRuntimes {
		return nil, cli.ErrNoRuntimes
	}
	l, err := rtc.Open(api, "")
	if err != nil {
		return nil, fmt.Errorf("%w; %s", err, advice)
	}
	return l, nil
}

// errNoLibrary is wrapped where a library cannot be opened.
var errNoLibrary = dl.ErrNoLibrary

func checkNVRTC(ctx context.Context, r *doctor.Report, quick bool) bool {
	return checkRTC(ctx, r, rtc.NVRTC, "NVRTC", nil, quick)
}

func checkHIPRTC(ctx context.Context, r *doctor.Report, quick bool) bool {
	return checkRTC(ctx, r, rtc.HIPRTC, "HIPRTC", []string{"--offload-arch=gfx90a"}, quick)
}

// checkRTC looks at a library that compiles without a device.
func checkRTC(ctx context.Context, r *doctor.Report, api rtc.API, subject string, options []string, quick bool) bool {
	l, err := rtc.Open(api, "")
	if errors.Is(err, rtc.ErrNoLibrary) {
		r.Add(subject, doctor.Info, "", "not here: %v", err)
		return false
	}
	if err != nil {
		r.Add(subject, doctor.Fail, "install a newer one", "%v", err)
		return false
	}
	r.Add(subject, doctor.Info, "", "%s, %s", rtcTitle(l), l.Path())
	identity, err := l.Identify()
	variables, _ := l.Variables()
	if !r.AddIdentity(subject, identity, err, variables) {
		return false
	}
	return quick || r.AddProbe(subject, func(dir string, want machine.Origin) (time.Duration, error) {
		return probeRTC(ctx, l, options, dir, want)
	})
}

// probeRTC compiles a program that nobody compiled before.
func probeRTC(ctx context.Context, l *rtc.Library, options []string, dir string, want machine.Origin) (took time.Duration, err error) {
	cache, err := kernstash.Open(doctor.ProbeOptions(dir))
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
	if err := doctor.CheckFrom(cache.Stats(), want); err != nil {
		return 0, err
	}
	if want == machine.FromCompiler {
		err = machine.AwaitStored(ctx, cache, stats.Snapshot{})
	}
	return took, err
}
