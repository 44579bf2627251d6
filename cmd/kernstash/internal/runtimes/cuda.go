//go:build !nogpu

package runtimes

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/demo/programs"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/doctor"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/machine"
	"github.com/kernstash/kernstash/gpu/cuda"
	"github.com/kernstash/kernstash/gpu/rtc"
)

func checkCUDA(ctx context.Context, r *doctor.Report, quick bool) bool {
	const subject = "CUDA"
	driver, err := cuda.TheDriver()
	if err == nil {
		r.Add(subject, doctor.Info, "", "driver %v, %s", driver, driver.Library)
	}
	devices, failed := cuda.Devices()
	if err = errors.Join(err, failed); err != nil {
		// A library that cannot be opened is a driver that is not here; what the driver
		// itself answers is worth a look.
		v := doctor.Warn
		if errors.Is(err, errNoLibrary) || errors.Is(err, cuda.NoDevice) {
			v = doctor.Info
		}
		r.Add(subject, v, "", "not here: %v", failed)
		return false
	}
	nvrtc, noNVRTC := rtc.Open(rtc.NVRTC, "")
	works := false
	for i, d := range devices {
		r.HasDevice()
		subject := fmt.Sprintf("CUDA device %d, %s", i, d.Name)
		r.Add(subject, doctor.Info, "", "compute capability %v, %d multiprocessors, PCI %s", d.Capability, d.Limits.Multiprocessors, d.PCI)
		identity, err := d.Identify()
		ok := r.AddIdentity(subject, identity, err, nil)
		switch {
		case noNVRTC != nil:
			r.Add(subject, doctor.Info, nvrtcAdvice, "without NVRTC no CUDA C++ is compiled; what programs bring as PTX is")
		case !quick:
			r.Add(subject, doctor.Info, "", "CUDA C++ is compiled for %s", d.Arch(nvrtc))
			ok = ok && r.AddProbe(subject, doctor.ProbeDevice(ctx, cudaMachine, d))
		}
		works = works || ok
	}
	return works
}

func cudaMachine(cache *kernstash.Cache, d *cuda.Device) (*machine.Machine, error) {
	c, err := cuda.NewContext(cache, d)
	if err != nil {
		return nil, err
	}
	stream := c.DefaultStream()
	return &machine.Machine{
		NewBuffer: func(size int) (*machine.Buffer, error) {
			b, err := c.NewMemory(size)
			return machine.BufferOf(size, b, err, stream.Write, stream.Read)
		},
		NewProgram: func(ctx context.Context, p programs.Program) (programs.Built, error) {
			l, err := c.NVRTC()
			if err != nil {
				return nil, err
			}
			got, err := c.Compile(ctx, rtc.Request{
				Source: []byte(p.CUDA), Name: p.Name + ".cu", Options: append(strings.Fields(p.Options), "--gpu-architecture="+d.Arch(l)),
			})
			return machine.ProgramOf(got, err, func(k *cuda.CachedKernel, global, local []int, args []any) error {
				return k.Launch(nil, groups(global, local), local, args...)
			})
		},
		Close: c.Close,
	}, nil
}

// groups returns how many groups of a local size make up a global one.
func groups(global, local []int) []int {
	n := make([]int, len(global))
	for i := range global {
		n[i] = global[i] / local[i]
	}
	return n
}
