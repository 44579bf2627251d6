//go:build !nogpu

package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/kernstash/kernstash/gpu/opencl"
)

func checkOpenCL(ctx context.Context, r *doctorReport, quick bool) bool {
	const subject = "OpenCL"
	platforms, err := opencl.Platforms()
	if err != nil {
		r.add(subject, verdictInfo, "", "not here: %v", err)
		return false
	}
	if len(platforms) == 0 {
		r.add(subject, verdictInfo, "", "not here: the loader finds no platform")
		return false
	}
	index, works := 0, false
	for _, platform := range platforms {
		r.add(subject, verdictInfo, "", "%s, %s, %s", platform.Name, platform.Vendor, platform.Version)
		devices, err := platform.Devices(opencl.AnyType)
		if err == nil && len(devices) == 0 {
			err = errors.New("the driver lists none")
		}
		if err != nil {
			r.add(subject, verdictWarn, "check the driver, its environment, and the permissions of its device files",
				"%s has no device: %v", platform.Name, err)
			continue
		}
		for _, d := range devices {
			r.devices = true
			subject := fmt.Sprintf("device %d, %s", index, deviceTitle(d))
			r.add(subject, verdictInfo, "", "%s, driver %s, %s, %d compute units", d.Type, d.Driver, d.Version, d.Limits.ComputeUnits)
			r.add(subject, verdictInfo, "", "%s", describeKind(d))
			r.checkPoCLCache(subject, platform)
			aside := r.checkLeftAlone(subject, d)
			identity, err := d.Identify()
			ok := r.addIdentity(subject, identity, err, d.Variables())
			if ok && !quick && !aside {
				ok = r.addProbe(subject, probeDevice(ctx, openclMachine, d))
			}
			works = works || ok && !aside
			index++
		}
	}
	if index == 0 {
		r.add(subject, verdictInfo, "install a driver for the device, or for the CPU: on Debian or Ubuntu: apt-get install pocl-opencl-icd",
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
func (r *doctorReport) checkLeftAlone(subject string, d *opencl.Device) bool {
	_, err := d.SteadyVariables()
	if _, _, pocl := d.Platform().PoCLCache(os.Environ()); err != nil && pocl == nil {
		r.add(subject, verdictWarn, "", "programs are compiled as without the cache: %v", err)
	}
	return err != nil
}

// checkPoCLCache says whether PoCL's own cache is on, and so which cache answers.
func (r *doctorReport) checkPoCLCache(subject string, p *opencl.Platform) {
	is, off, err := p.PoCLCache(os.Environ())
	switch {
	case !is:
	case err != nil:
		r.add(subject, verdictWarn, "set POCL_KERNEL_CACHE to 1, or unset it", "the cache stays out of unchanged applications: %v", err)
	case off:
		r.add(subject, verdictInfo, "", "PoCL's own cache is off (POCL_KERNEL_CACHE=0): kernstash's answers alone")
	default:
		r.add(subject, verdictInfo, "", "PoCL's own cache is on: kernstash's is asked first, PoCL's for what that has not (POCL_KERNEL_CACHE=0 switches it off)")
	}
}
