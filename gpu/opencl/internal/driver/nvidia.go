package driver

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
	"github.com/kernstash/kernstash/gpu/opencl/internal/ptx"
	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/key"
)

// NVIDIA is NVIDIA's driver. Its binaries are PTX, which it assembles at each load.
type NVIDIA struct{ Other }

var _ Assembler = NVIDIA{}

// nvidiaRules are of the CUDA Toolkit documentation, "CUDA Environment Variables", JIT section.
// CUDA_CACHE_* say where the driver keeps its own cache.
var nvidiaRules = drivers.Rules{
	Prefixes: []string{"CUDA_FORCE_", "CUDA_DISABLE_PTX_JIT", "CUDA_DISABLE_JIT", "CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "NV_OCL_", "NVIDIA_OPENCL_"},
}

// Is implements Driver.
func (NVIDIA) Is(name, suffix string) bool { return suffix == "NV" || name == "NVIDIA CUDA" }

// Rules implements Driver.
func (NVIDIA) Rules(Platform) *drivers.Rules { return &nvidiaRules }

// Assemble implements Assembler. The assembler is that of the driver, with its defaults.
func (NVIDIA) Assemble(d Device, o key.BuildOptions, binary []byte) ([]byte, error) {
	if word := assemblerOption(o); word != "" {
		return nil, fmt.Errorf("%w: %s is for the assembler too", kernstash.ErrNotCacheable, word)
	}
	cubin, err := ptx.Assemble(binary, d.capability())
	var refused *ptx.Error
	switch {
	case errors.As(err, &refused) && refused.Log != "":
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrElsewhere, err)
	}
	return cubin, nil
}

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
