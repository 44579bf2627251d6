//go:build !nogpu

package runtimes

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/demo/programs"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/doctor"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/machine"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/key"
)

// openclDevices returns every device of every runtime. None is an error that says
// what to do.
func openclDevices() ([]*opencl.Device, error) {
	if !cli.HasRuntimes {
		return nil, cli.ErrNoRuntimes
	}
	devices, err := opencl.Devices(opencl.AnyType)
	if err != nil {
		return nil, fmt.Errorf("no OpenCL here: %w; install a loader and a driver, "+
			"on Debian or Ubuntu: apt-get install ocl-icd-libopencl1 pocl-opencl-icd", err)
	}
	if len(devices) == 0 {
		return nil, errors.New("OpenCL is here but has no device (PoCL has none where it cannot write its cache, POCL_CACHE_DIR); install a driver, " +
			"on Debian or Ubuntu: apt-get install pocl-opencl-icd")
	}
	return devices, nil
}

// deviceTitle is what --device is compared with.
func deviceTitle(d *opencl.Device) string { return d.Platform().Name + "/" + d.Name }

// openDevice returns the device that --device names, the first one if it names
// none.
func openDevice(choice string) (*opencl.Device, error) {
	devices, err := openclDevices()
	if err != nil {
		return nil, err
	}
	return machine.Pick(devices, deviceTitle, choice)
}

func checkOpenCL(ctx context.Context, r *doctor.Report, quick bool) bool {
	const subject = "OpenCL"
	platforms, err := opencl.Platforms()
	if err != nil {
		r.Add(subject, doctor.Info, "", "not here: %v", err)
		return false
	}
	if len(platforms) == 0 {
		r.Add(subject, doctor.Info, "", "not here: the loader finds no platform")
		return false
	}
	index, works := 0, false
	for _, platform := range platforms {
		r.Add(subject, doctor.Info, "", "%s, %s, %s", platform.Name, platform.Vendor, platform.Version)
		devices, err := platform.Devices(opencl.AnyType)
		if err == nil && len(devices) == 0 {
			err = errors.New("the driver lists none")
		}
		if err != nil {
			r.Add(subject, doctor.Warn, "check the driver, its environment, and the permissions of its device files",
				"%s has no device: %v", platform.Name, err)
			continue
		}
		for _, d := range devices {
			r.HasDevice()
			subject := fmt.Sprintf("device %d, %s", index, deviceTitle(d))
			r.Add(subject, doctor.Info, "", "%s, driver %s, %s, %d compute units", d.Type, d.Driver, d.Version, d.Limits.ComputeUnits)
			r.Add(subject, doctor.Info, "", "%s", describeKind(d))
			checkPoCLCache(r, subject, platform)
			aside := checkLeftAlone(r, subject, d)
			identity, err := d.Identify()
			ok := r.AddIdentity(subject, identity, err, d.Variables())
			if ok && !quick && !aside {
				ok = r.AddProbe(subject, doctor.ProbeDevice(ctx, openclMachine, d))
			}
			works = works || ok && !aside
			index++
		}
	}
	if index == 0 {
		r.Add(subject, doctor.Info, "install a driver for the device, or for the CPU: on Debian or Ubuntu: apt-get install pocl-opencl-icd",
			"no platform has a device")
	}
	return works
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

// checkLeftAlone says why the programs of a device are all compiled, if they are. Of
// PoCL's cache checkPoCLCache has said so.
func checkLeftAlone(r *doctor.Report, subject string, d *opencl.Device) bool {
	_, err := d.SteadyVariables()
	if _, _, pocl := d.Platform().PoCLCache(os.Environ()); err != nil && pocl == nil {
		r.Add(subject, doctor.Warn, "", "programs are compiled as without the cache: %v", err)
	}
	return err != nil
}

// checkPoCLCache says whether PoCL's own cache is on, and so which cache answers.
func checkPoCLCache(r *doctor.Report, subject string, p *opencl.Platform) {
	is, off, err := p.PoCLCache(os.Environ())
	switch {
	case !is:
	case err != nil:
		r.Add(subject, doctor.Warn, "set POCL_KERNEL_CACHE to 1, or unset it", "the cache stays out of unchanged applications: %v", err)
	case off:
		r.Add(subject, doctor.Info, "", "PoCL's own cache is off (POCL_KERNEL_CACHE=0): kernstash's answers alone")
	default:
		r.Add(subject, doctor.Info, "", "PoCL's own cache is on: kernstash's is asked first, PoCL's for what that has not (POCL_KERNEL_CACHE=0 switches it off)")
	}
}

func openclMachine(cache *kernstash.Cache, d *opencl.Device) (*machine.Machine, error) {
	c, err := opencl.NewContext(cache, d)
	if err != nil {
		return nil, err
	}
	q, err := c.NewQueue(d, opencl.QueueOptions{})
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &machine.Machine{
		NewBuffer: func(size int) (*machine.Buffer, error) {
			b, err := c.NewBuffer(opencl.ReadWrite, size)
			write := func(b *opencl.Buffer, at int, p []byte) error { return q.Write(b, at, p) }
			return machine.BufferOf(size, b, err, write, func(b *opencl.Buffer, at int, p []byte) error { return q.Read(b, at, p) })
		},
		NewProgram: func(ctx context.Context, p programs.Program) (programs.Built, error) {
			image, err := kernstash.NewImage(key.OpenCLC, []byte(p.Source))
			if err != nil {
				return nil, err
			}
			got, err := c.Program(ctx, kernstash.Request{Image: image, CompileOptions: p.Options})
			return machine.ProgramOf(got, err, func(k *opencl.CachedKernel, global, local []int, args []any) error {
				return k.Launch(q, global, local, args...)
			})
		},
		Close: func() error { return errors.Join(q.Release(), c.Close()) },
	}, nil
}

// Identities are the devices whose entries are known to be told from others'.
func Identities() (all []key.Device, err error) {
	devices, err := openclDevices()
	if err != nil {
		return nil, err
	}
	for _, d := range devices {
		if id, err := d.Identify(); err == nil {
			all = append(all, id)
		}
	}
	return all, nil
}
