//go:build !nogpu

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/kernstash/kernstash/gpu/cuda"
	"github.com/kernstash/kernstash/gpu/rtc"
)

func checkCUDA(ctx context.Context, r *doctorReport, quick bool) bool {
	const subject = "CUDA"
	driver, err := cuda.TheDriver()
	if err == nil {
		r.add(subject, verdictInfo, "", "driver %v, %s", driver, driver.Library)
	}
	devices, failed := cuda.Devices()
	if err = errors.Join(err, failed); err != nil {
		// A library that cannot be opened is a driver that is not here; what the driver
		// itself answers is worth a look.
		v := verdictWarn
		if errors.Is(err, errNoLibrary) || errors.Is(err, cuda.NoDevice) {
			v = verdictInfo
		}
		r.add(subject, v, "", "not here: %v", failed)
		return false
	}
	nvrtc, noNVRTC := rtc.Open(rtc.NVRTC, "")
	works := false
	for i, d := range devices {
		r.devices = true
		subject := fmt.Sprintf("CUDA device %d, %s", i, d.Name)
		r.add(subject, verdictInfo, "", "compute capability %v, %d multiprocessors, PCI %s", d.Capability, d.Limits.Multiprocessors, d.PCI)
		identity, err := d.Identify()
		ok := r.addIdentity(subject, identity, err, nil)
		switch {
		case noNVRTC != nil:
			r.add(subject, verdictInfo, nvrtcAdvice, "without NVRTC no CUDA C++ is compiled; what programs bring as PTX is")
		case !quick:
			r.add(subject, verdictInfo, "", "CUDA C++ is compiled for %s", d.Arch(nvrtc))
			ok = ok && r.addProbe(subject, probeDevice(ctx, cudaMachine, d))
		}
		works = works || ok
	}
	return works
}
