// Package tool describes CUDA to the command: devices, whose programs NVRTC compiles.
package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/cuda"
	"github.com/kernstash/kernstash/gpu/rtc"
	rtctool "github.com/kernstash/kernstash/gpu/rtc/tool"
	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/key"
)

// Runtime is CUDA.
var Runtime = tool.Runtime{
	Name: "cuda", Title: "CUDA",
	Advice: "NVIDIA's driver and NVRTC",
	Caches: []string{"CUDA_CACHE_PATH"},
	Peer:   "alone",
	Note: "Alone: kernstash switched off, NVIDIA's own caches filled by another process. NVRTC compiles anew in each\n" +
		"process; the driver keeps only what it makes of PTX, and here NVRTC makes machine code.",
	Compilers: []tool.Compiler{
		{Files: []string{"libnvJitLink"}, Name: "nvJitLink", Served: true, Text: tool.ServedByRun, FrontEnd: "nvjitlink"},
		{
			Files: []string{"libnvvm.so"}, Name: "libNVVM (Numba and others)", Served: true, Text: tool.ServedByRun, FrontEnd: "nvvm",
		},
		{
			Files: []string{"libnvidia-ptxjitcompiler.so"}, Name: "PTX compiler of NVIDIA's driver",
			Text: "not served: the driver keeps its own cache (CUDA_CACHE_PATH, CUDA_CACHE_MAXSIZE); programs that give it cubins do not need it",
		},
		{Files: []string{"libnvinfer.so"}, Name: "TensorRT", Text: "not served: keep its engines, and its timing cache, yourself"},
		{Files: []string{"xla_extension", "xla_cuda_plugin", "libpjrt"}, Name: "XLA (JAX)", Text: "'kernstash run' switches its own cache on where there is a GPU; ptxas is served where XLA starts it"},
	},
	Examine: examine,
	Devices: func() (all []tool.Device, err error) {
		found, err := cuda.Devices()
		if err != nil {
			err = fmt.Errorf("no CUDA here: %w", err)
		}
		for _, d := range found {
			all = append(all, device(d))
		}
		return all, err
	},
	Identities: func() (all []key.Device, err error) {
		found, err := cuda.Devices()
		if err != nil {
			err = fmt.Errorf("no CUDA here: %w", err)
		}
		for _, d := range found {
			if id, err := d.Identify(); err == nil {
				all = append(all, id)
			}
		}
		return all, err
	},
}

func device(d *cuda.Device) tool.Device {
	return tool.Device{Title: d.Name, Run: func(c *kernstash.Cache) (*tool.Machine, error) { return run(c, d) }}
}

func examine() []tool.Subject {
	const name = "CUDA"
	s := tool.Subject{Name: name}
	driver, err := cuda.TheDriver()
	if err == nil {
		s.Add(tool.Info, "", "driver %v, %s", driver, driver.Library)
	}
	devices, failed := cuda.Devices()
	if err = errors.Join(err, failed); err != nil {
		// A library that cannot be opened is a driver that is not here; what the driver
		// itself answers is worth a look.
		v := tool.Warn
		if errors.Is(err, rtc.ErrNoLibrary) || errors.Is(err, cuda.NoDevice) {
			v = tool.Info
		}
		s.Add(v, "", "not here: %v", failed)
		return []tool.Subject{s}
	}
	all := []tool.Subject{s}
	nvrtc, missing := rtc.Open(rtc.NVRTC, "")
	for i, d := range devices {
		s := tool.Subject{Name: fmt.Sprintf("CUDA device %d, %s", i, d.Name)}
		s.Add(tool.Info, "", "compute capability %v, %d multiprocessors, PCI %s", d.Capability, d.Limits.Multiprocessors, d.PCI)
		s.Target = &tool.Target{IsDevice: true}
		s.Target.Identity, s.Target.Err = d.Identify()
		if missing != nil {
			s.Add(tool.Info, rtctool.NVRTCAdvice, "without NVRTC no CUDA C++ is compiled; what programs bring as PTX is")
		} else {
			s.Add(tool.Info, "", "CUDA C++ is compiled for %s", d.Arch(nvrtc))
			s.Target.Run = device(d).Run
		}
		all = append(all, s)
	}
	return all
}

func run(cache *kernstash.Cache, d *cuda.Device) (*tool.Machine, error) {
	c, err := cuda.NewContext(cache, d)
	if err != nil {
		return nil, err
	}
	stream := c.DefaultStream()
	return &tool.Machine{
		NewBuffer: func(size int) (*tool.Buffer, error) {
			b, err := c.NewMemory(size)
			return tool.BufferOf(size, b, err, stream.Write, stream.Read)
		},
		NewProgram: func(ctx context.Context, code tool.Code) (tool.Program, error) {
			l, err := c.NVRTC()
			if err != nil {
				return nil, err
			}
			got, err := c.Compile(ctx, rtc.Request{
				Source: code.Texts[key.CUDACpp], Name: code.Name + ".cu", Options: append(strings.Fields(code.Options), "--gpu-architecture="+d.Arch(l)),
			})
			return tool.ProgramOf(got, err, func(k *cuda.CachedKernel, global, local []int, args []any) error {
				return k.Native().Launch(nil, tool.Groups(global, local), local, args...)
			})
		},
		Close: c.Close,
	}, nil
}
