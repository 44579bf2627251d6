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
			subject := fmt.Sprintf("device %d, %s", index, deviceTitle(d))
			r.add(subject, verdictInfo, "", "%s, driver %s, %s, %d compute units", d.Type, d.Driver, d.Version, d.Limits.ComputeUnits)
			r.add(subject, verdictInfo, "", "%s", describeKind(d.Kind()))
			r.checkPoCLCache(subject, platform)
			identity, err := d.Identify()
			ok := r.addIdentity(subject, identity, err, d.Variables())
			if ok && !quick {
				ok = r.addProbe(subject, probeDevice(ctx, openclDevice{d}))
			}
			works = works || ok
			index++
		}
	}
	if index == 0 {
		r.add(subject, verdictInfo, "install a driver for the device, or for the CPU: on Debian or Ubuntu: apt-get install pocl-opencl-icd",
			"no platform has a device")
	}
	return works
}

func describeKind(k opencl.Kind) string {
	switch k {
	case opencl.Deferred:
		return "makes code when a kernel is launched: it is captured after the launch"
	case opencl.Intermediate:
		return "gives out intermediate code"
	}
	return "gives out machine code when the build ends"
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
