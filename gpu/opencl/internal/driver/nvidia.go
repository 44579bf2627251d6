package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/cuda"
	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/key"
)

// NVIDIA is NVIDIA's driver. Its binaries are PTX, which it assembles at each load.
type NVIDIA struct{ Other }

// nvidiaRules are of the CUDA Toolkit documentation, "CUDA Environment Variables", JIT section.
// CUDA_CACHE_* say where the driver keeps its own cache.
var nvidiaRules = drivers.Rules{
	Prefixes: []string{"CUDA_FORCE_", "CUDA_DISABLE_PTX_JIT", "CUDA_DISABLE_JIT", "CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "NV_OCL_", "NVIDIA_OPENCL_"},
}

// Assemble makes machine code of a program's binary as the driver does, with its assembler's defaults.
// The error wraps kernstash.ErrNotCacheable where the build's options change that, and ErrElsewhere
// where it is not possible here.
func (NVIDIA) Assemble(d Device, o key.BuildOptions, binary []byte) ([]byte, error) {
	if word := assemblerOption(o); word != "" {
		return nil, fmt.Errorf("%w: %s is for the assembler too", kernstash.ErrNotCacheable, word)
	}
	return assemble(binary, d.capability())
}

// assemble makes a cubin of PTX with the assembler in libcuda, which is always there with NVIDIA's
// OpenCL, for a compute capability as "9.0". It is expensive, some 200 ms: CUDA is initialised, and
// a context made.
func assemble(ptx []byte, capability string) (cubin []byte, err error) {
	defer func() {
		var refused *kernstash.BuildError
		if err != nil && !errors.Is(err, errNoCubin) && (!errors.As(err, &refused) || refused.Log == "") {
			err = fmt.Errorf("%w: assemble PTX: %w", ErrElsewhere, err)
		}
	}()
	devices, err := cuda.Devices()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(devices, func(d *cuda.Device) bool { return d.Capability.String() == capability })
	if i < 0 {
		// The assembler works for the devices that are there.
		return nil, fmt.Errorf("no device of this compute capability: %s", capability)
	}
	image, err := key.NewImage(key.PTX, ptx)
	if err != nil {
		return nil, err
	}
	c, err := cuda.Open(devices[i])
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Release()) }()
	job := kernstash.Job{Devices: []int{0}, Recipe: &key.Recipe{Image: image}}
	m, a, err := cuda.NewLinker(c).Build(context.Background(), job)
	if err != nil {
		return nil, err
	}
	if err := m.Release(); err != nil || a == nil {
		return nil, cmp.Or(err, fmt.Errorf("%w: %w", kernstash.ErrNotCacheable, errNoCubin))
	}
	return a.Binaries[0].Data, nil
}

// errNoCubin is returned where the driver takes PTX alone, as variables in the recipe say: so it
// does elsewhere.
var errNoCubin = errors.New("the driver makes no machine code of it")

// assemblerOption returns the first build option that changes what the driver makes of PTX: its
// own (cl_nv_compiler_options), and those against optimization and for debuggers.
func assemblerOption(o key.BuildOptions) string {
	for _, word := range slices.Concat(o.Compile, o.Link) {
		if strings.HasPrefix(word, "-cl-nv-") || word == "-cl-opt-disable" || word == "-g" {
			return word
		}
	}
	return ""
}

// capability returns the compute capability, as "9.0"; "" where there is none.
func (d Device) capability() string {
	if !d.Has("cl_nv_device_attribute_query") {
		return ""
	}
	major, ok1 := d.number(cl.DeviceComputeCapabilityMajorNV)
	minor, ok2 := d.number(cl.DeviceComputeCapabilityMinorNV)
	if !ok1 || !ok2 {
		return ""
	}
	return fmt.Sprintf("%d.%d", major, minor)
}
