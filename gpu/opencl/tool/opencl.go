// Package tool describes OpenCL to the command.
package tool

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/gpu/opencl/job"
	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/key"
)

// Runtime is OpenCL.
var Runtime = tool.Runtime{
	Name: "opencl", Title: "OpenCL",
	Advice:       "a driver for your device, or one for the CPU (on Debian or Ubuntu: apt-get install ocl-icd-libopencl1 pocl-opencl-icd)",
	Caches:       []string{"POCL_CACHE_DIR", "MESA_SHADER_CACHE_DIR"},
	Peer:         "driver's cache",
	Note:         "Driver's cache: kernstash switched off, the driver's own cache filled by another process.",
	Applications: [][]string{{"./saxpy"}, {"clpeak", "--kernel-latency"}},
	Files:        []key.Kind{key.OpenCLC, key.SPIRV},
	Help:         "  .cl    OpenCL C, for an OpenCL device\n",
	Joined:       true,
	Arguments:    true,
	Compilers: []tool.Compiler{
		{Files: []string{"libOpenCL.so"}, Name: "OpenCL loader", Served: true, Text: tool.ServedByRun, FrontEnd: "opencl", Layers: &layers},
		{
			Files: []string{"libpocl.so", "libigdrcl.so", "libnvidia-opencl.so", "libamdocl64.so", "libRusticlOpenCL.so", "libMesaOpenCL.so", "libintelocl.so"},
			Name:  "OpenCL driver", Served: true, Text: "served by 'kernstash run', through the OpenCL loader or by preloading",
		},
	},
	Examine:    examine,
	Devices:    devices,
	Job:        job.Do,
	Identities: identities,
}

var layers = tool.Layers{Library: "libkernstash_opencl_layer.so", Variable: "OPENCL_LAYERS", Loader: "libOpenCL.so.1"}

// found returns every device of every platform. None is an error that says what to do.
func found() ([]*opencl.Device, error) {
	all, err := opencl.Devices(opencl.AnyType)
	switch {
	case err != nil:
		return nil, fmt.Errorf("no OpenCL here: %w; install a loader and a driver, "+
			"on Debian or Ubuntu: apt-get install ocl-icd-libopencl1 pocl-opencl-icd", err)
	case len(all) == 0:
		return nil, errors.New("OpenCL is here but has no device (PoCL has none where it cannot write its cache, POCL_CACHE_DIR); install a driver, " +
			"on Debian or Ubuntu: apt-get install pocl-opencl-icd")
	}
	return all, nil
}

func devices() (all []tool.Device, err error) {
	here, err := found()
	for _, d := range here {
		all = append(all, device(d))
	}
	return all, err
}

func identities() (all []key.Device, err error) {
	here, err := found()
	for _, d := range here {
		if id, err := d.Identify(); err == nil {
			all = append(all, id)
		}
	}
	return all, err
}

func title(d *opencl.Device) string { return d.Platform().Name + "/" + d.Name }

func device(d *opencl.Device) tool.Device {
	takes := []key.Kind{key.OpenCLC}
	if d.ILVersion != "" {
		takes = append(takes, key.SPIRV)
	}
	return tool.Device{
		Title: title(d), Takes: takes,
		Open: func(o tool.BuildOptions) (tool.Builder, error) { return open(d, o) },
		Run:  func(c *kernstash.Cache) (*tool.Machine, error) { return run(c, d) },
	}
}

func examine() []tool.Subject {
	const name = "OpenCL"
	platforms, err := opencl.Platforms()
	if err != nil {
		return tool.Only(name, tool.Info, "", "not here: %v", err)
	}
	if len(platforms) == 0 {
		return tool.Only(name, tool.Info, "", "not here: the loader finds no platform")
	}
	var all []tool.Subject
	index := 0
	for _, platform := range platforms {
		s := tool.Subject{Name: name}
		s.Add(tool.Info, "", "%s, %s, %s", platform.Name, platform.Vendor, platform.Version)
		devices, err := platform.Devices(opencl.AnyType)
		if err == nil && len(devices) == 0 {
			err = errors.New("the driver lists none")
		}
		if err != nil {
			s.Add(tool.Warn, "check the driver, its environment, and the permissions of its device files",
				"%s has no device: %v", platform.Name, err)
		}
		all = append(all, s)
		for _, d := range devices {
			all = append(all, examineDevice(index, d))
			index++
		}
	}
	if index == 0 {
		all = append(all, tool.Only(name, tool.Info,
			"install a driver for the device, or for the CPU: on Debian or Ubuntu: apt-get install pocl-opencl-icd",
			"no platform has a device")...)
	}
	return all
}

func examineDevice(index int, d *opencl.Device) tool.Subject {
	s := tool.Subject{Name: fmt.Sprintf("device %d, %s", index, title(d))}
	s.Add(tool.Info, "", "%s, driver %s, %s, %d compute units", d.Type, d.Driver, d.Version, d.Limits.ComputeUnits)
	s.Add(tool.Info, "", "%s", describeKind(d))
	_, bypass := d.SteadyVariables()
	is, off, err := d.Platform().OwnCache(os.Environ())
	switch {
	case err != nil:
		s.Add(tool.Warn, "set POCL_KERNEL_CACHE to 1, or unset it", "the cache stays out of unchanged applications: %v", err)
	case is && off:
		s.Add(tool.Info, "", "PoCL's own cache is off (POCL_KERNEL_CACHE=0): kernstash's answers alone")
	case is:
		s.Add(tool.Info, "", "PoCL's own cache is on: kernstash's is asked first, PoCL's for what that has not (POCL_KERNEL_CACHE=0 switches it off)")
	}
	if bypass != nil && err == nil {
		s.Add(tool.Warn, "", "programs are compiled as without the cache: %v", bypass)
	}
	s.Target = &tool.Target{Variables: d.Variables(), Bypassed: bypass != nil, IsDevice: true, Run: device(d).Run}
	s.Target.Identity, s.Target.Err = d.Identify()
	return s
}

func describeKind(d *opencl.Device) string {
	switch k := d.Kind(); {
	case k == opencl.Deferred:
		return "makes code when a kernel is launched: it is captured after the launch"
	case k == opencl.Intermediate:
		return "gives out intermediate code"
	case d.Platform().Suffix == "MESA":
		return "gives out SPIR-V when the build ends; machine code is made of it later, and kept by Mesa's own cache (MESA_SHADER_CACHE_DIR)"
	case !d.Platform().IsKnown():
		return "a driver that kernstash does not know: unchanged applications are left alone; the Go library keeps what it gives out when the build ends"
	}
	return "gives out machine code when the build ends"
}

func run(cache *kernstash.Cache, d *opencl.Device) (*tool.Machine, error) {
	c, err := opencl.NewContext(cache, d)
	if err != nil {
		return nil, err
	}
	q, err := c.NewQueue(d, opencl.QueueOptions{})
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &tool.Machine{
		NewBuffer: func(size int) (*tool.Buffer, error) {
			b, err := c.NewBuffer(opencl.ReadWrite, size)
			write := func(b *opencl.Buffer, at int, p []byte) error { return q.Write(b, at, p) }
			return tool.BufferOf(size, b, err, write, func(b *opencl.Buffer, at int, p []byte) error { return q.Read(b, at, p) })
		},
		NewProgram: func(ctx context.Context, code tool.Code) (tool.Program, error) {
			image, err := kernstash.NewImage(key.OpenCLC, code.Texts[key.OpenCLC])
			if err != nil {
				return nil, err
			}
			got, err := c.Program(ctx, kernstash.Request{Image: image, CompileOptions: code.Options})
			return tool.ProgramOf(got, err, func(k *opencl.CachedKernel, global, local []int, args []any) error {
				return k.Launch(q, global, local, args...)
			})
		},
		Close: func() error { return errors.Join(q.Release(), c.Close()) },
	}, nil
}
