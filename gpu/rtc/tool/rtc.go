// Package tool describes NVRTC and HIPRTC to the command: no device, and no driver, has a
// part in what they compile.
package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/key"
)

// The packages that hold the libraries, for people who have not got them.
const (
	NVRTCAdvice  = "install NVIDIA's NVRTC (on Debian: apt-get install libnvrtc11.2, of the component non-free; else the CUDA toolkit, or pip install nvidia-cuda-nvrtc), or put its directory into LD_LIBRARY_PATH"
	hiprtcAdvice = "install AMD's HIPRTC (on Debian or Ubuntu: apt-get install libamdhip64-5; else ROCm), or put its directory into LD_LIBRARY_PATH"
)

// NVRTC compiles CUDA C++.
var NVRTC = tool.Runtime{
	Name: "nvrtc", Title: "NVRTC",
	Files: []key.Kind{key.CUDACpp},
	Help: "  .cu    CUDA C++, with NVRTC, for the architectures that --arch names (sm_90 makes\n" +
		"         machine code, compute_90 PTX); it needs no GPU\n",
	Archs: []string{"sm_", "compute_", "lto_"},
	OfferedArchs: []string{
		"sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120",
		"compute_70", "compute_75", "compute_80", "compute_86", "compute_89", "compute_90", "compute_100", "compute_120",
	},
	Compilers: []tool.Compiler{{Files: []string{"libnvrtc.so"}, Name: "NVRTC", Served: true, Text: tool.ServedByRun, FrontEnd: "nvrtc"}},
	Examine:   func() []tool.Subject { return examine(rtc.NVRTC, "NVRTC") },
	Open:      func(o tool.BuildOptions) (tool.Builder, error) { return open(o, rtc.NVRTC, NVRTCAdvice) },
}

// HIPRTC compiles HIP C++. HIPRTC 5.2 crashes where two programs are compiled at once.
var HIPRTC = tool.Runtime{
	Name: "hiprtc", Title: "HIPRTC", Advice: "AMD's HIPRTC (libamdhip64-5)",
	Files:        []key.Kind{key.HIPCpp},
	Help:         "  .hip   HIP C++, with HIPRTC, for those (gfx90a); it needs no GPU\n",
	Archs:        []string{"gfx"},
	OfferedArchs: []string{"gfx906", "gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"},
	Serial:       true,
	Compilers: []tool.Compiler{
		{Files: []string{"libhiprtc.so"}, Name: "HIPRTC", Served: true, Text: tool.ServedByRun, FrontEnd: "hiprtc"},
		{Files: []string{"libamdhip64.so"}, Name: "HIP runtime", Served: true, Text: "what it compiles through HIPRTC is served by 'kernstash run'", FrontEnd: "hiprtc"},
		{
			Files: []string{"libMIOpen.so"}, Name: "MIOpen",
			Text: "keeps its own cache (MIOPEN_CUSTOM_CACHE_DIR); what it compiles through HIPRTC is served",
		},
		{
			Files: []string{"libamd_comgr.so"}, Name: "AMD's code object manager", Served: true,
			Text: "what reaches it through HIPRTC is served by 'kernstash run'; for the rest it has a cache of its own (AMD_COMGR_CACHE)",
		},
	},
	Examine: func() []tool.Subject { return examine(rtc.HIPRTC, "HIPRTC", "--offload-arch=gfx90a") },
	Open:    func(o tool.BuildOptions) (tool.Builder, error) { return open(o, rtc.HIPRTC, hiprtcAdvice) },
}

// examine looks at a library that compiles without a device.
func examine(api rtc.API, name string, options ...string) []tool.Subject {
	l, err := rtc.Open(api, "")
	if errors.Is(err, rtc.ErrNoLibrary) {
		return tool.Only(name, tool.Info, "", "not here: %v", err)
	}
	if err != nil {
		return tool.Only(name, tool.Fail, "install a newer one", "%v", err)
	}
	s := tool.Subject{Name: name, Target: new(tool.Target)}
	s.Add(tool.Info, "", "%s, %s", title(l), l.Path())
	s.Target.Identity, s.Target.Err = l.Identify()
	s.Target.Variables, _ = l.Variables()
	s.Target.Compile = func(ctx context.Context, cache *kernstash.Cache, mark string) error {
		c := rtc.NewCompiler(cache, l, kernstash.ContextOptions{})
		_, err := c.Compile(ctx, rtc.Request{
			Source: fmt.Appendf(nil, "// %s\nextern \"C\" __global__ void probe(float *x) { x[threadIdx.x] += 1.0f; }\n", mark),
			Name:   "probe.cu", Options: options,
		})
		return errors.Join(err, c.Close())
	}
	return []tool.Subject{s}
}

// title returns "NVRTC 11.8".
func title(l *rtc.Library) string {
	major, minor := l.Version()
	return fmt.Sprintf("%s %d.%d", strings.ToUpper(l.API().String()), major, minor)
}

// builder builds files for the architectures that it is told.
type builder struct {
	of      tool.BuildOptions
	library *rtc.Library
}

func open(o tool.BuildOptions, api rtc.API, advice string) (tool.Builder, error) {
	l, err := rtc.Open(api, "")
	if err != nil {
		return nil, fmt.Errorf("%w; %s", err, advice)
	}
	return &builder{o, l}, nil
}

func (b *builder) Title() string { return title(b.library) }

func (b *builder) Close() error { return nil }

// request returns what an application would ask for.
func (b *builder) request(f tool.File, source []byte) rtc.Request {
	r := rtc.Request{Source: source, Name: f.Path, Options: b.of.Flags(), Expressions: b.of.Expressions}
	if b.of.ProgramName != nil {
		r.Name = *b.of.ProgramName
	}
	switch {
	case f.Arch == "":
	case b.library.API() == rtc.HIPRTC:
		r.Options = append(r.Options, "--offload-arch="+f.Arch)
	default:
		r.Options = append(r.Options, "--gpu-architecture="+f.Arch)
	}
	r.Options = append(r.Options, b.of.Words...)
	return r
}

// cached is an output that a cache holds.
type cached = kernstash.Program[*rtc.Output, struct{}]

func (b *builder) Build(ctx context.Context, f tool.File) (tool.Built, error) {
	source, err := os.ReadFile(f.Path)
	if err != nil {
		return tool.Built{}, err
	}
	request, err := b.library.Core(b.request(f, source))
	if err != nil {
		why := strings.TrimPrefix(err.Error(), "request: ")
		if b.library.API() == rtc.HIPRTC && f.Arch == "" {
			why += "; name one with --arch gfx90a"
		}
		return tool.Built{NotCacheable: why}, nil
	}
	return tool.ThroughCache(b.of.Cache, func(cache *kernstash.Cache) (*cached, error) {
		return rtc.NewCompiler(cache, b.library, kernstash.ContextOptions{}).Context().Program(ctx, request)
	})
}
