package opencl

import "strings"

// Kind says when a driver's code is complete, and so when it is worth taking.
type Kind uint8

// The kinds of driver.
const (
	Final        Kind = iota // machine code when the build returns (Intel); also every driver that is not known
	Intermediate             // the binary is PTX, assembled again at each load (NVIDIA)
	Deferred                 // code is made at the first launch of a local size (PoCL)
)

func (k Kind) String() string {
	switch k {
	case Intermediate:
		return "intermediate"
	case Deferred:
		return "deferred"
	}
	return "final"
}

// Kind returns the kind of the device's driver.
func (d *Device) Kind() Kind {
	switch d.platform.vendor() {
	case pocl:
		return Deferred
	case nvidia:
		return Intermediate
	}
	return Final
}

// vendor is a driver that is known here.
type vendor uint8

const (
	unknown vendor = iota
	pocl
	intel
	nvidia
	amd
	mesa
	oclgrind

	vendors
)

// vendor tells platforms apart by CL_PLATFORM_ICD_SUFFIX_KHR, and by name where
// an application reaches a driver without the usual loader.
func (p *Platform) vendor() vendor {
	switch {
	case p.Suffix == "POCL" || p.Name == "Portable Computing Language":
		return pocl
	case p.Suffix == "INTEL" || strings.HasPrefix(p.Name, "Intel(R) OpenCL"):
		return intel
	case p.Suffix == "NV" || p.Name == "NVIDIA CUDA":
		return nvidia
	case p.Suffix == "AMD" || strings.HasPrefix(p.Name, "AMD Accelerated"):
		return amd
	case p.Suffix == "MESA" || p.Name == "rusticl":
		return mesa
	case p.Suffix == "oclg" || p.Name == "Oclgrind":
		return oclgrind
	}
	return unknown
}

// IsKnown reports whether the platform's driver is one of which this package knows when its code
// is complete. Others are taken to be Final, and the layer leaves them alone.
func (p *Platform) IsKnown() bool { return p.vendor() != unknown }

// TellsNoOptions says whether the driver may make another program of no options
// at all (C's NULL) than of empty ones. PoCL 3.1 does: arguments' names are there
// with empty options alone. Intel's 22.43 does not. Of others it is not known, so
// they may.
func (d *Device) TellsNoOptions() bool { return d.platform.vendor() != intel }
