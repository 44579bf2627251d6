package cuda

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/gpu/rtc"
)

// Arch returns the architecture that CUDA C++ is compiled for where its options
// name none: the device's real one ("sm_90"), of which NVRTC makes machine code;
// where this NVRTC is older than the device, or makes no machine code, the newest
// virtual one that both know ("compute_80"), of which it makes PTX.
func (d *Device) Arch(l *rtc.Library) string {
	return archFor(d.Capability, l.SupportedArchs, jitForced())
}

func archFor(c Capability, supported func() ([]int, error), virtual bool) string {
	all, err := supported()
	if err != nil {
		return c.VirtualArch() // before NVRTC 11.2; what made no machine code before 11.1
	}
	own, best := 10*c.Major+c.Minor, 0
	for _, n := range all {
		if n <= own {
			best = max(best, n)
		}
	}
	switch {
	case slices.Contains(all, own) && !virtual:
		return c.Arch()
	case best > 0:
		return fmt.Sprintf("compute_%d", best)
	}
	return c.VirtualArch() // the device is too old for it, and it will say so
}

// namesArch says whether options may name an architecture.
func namesArch(options string) bool {
	return strings.Contains(options, "-arch") || strings.Contains(options, "-gpu-architecture")
}
