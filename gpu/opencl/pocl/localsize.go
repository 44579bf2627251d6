package pocl

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
	"github.com/kernstash/kernstash/gpu/opencl/internal/driver"
	"github.com/kernstash/kernstash/gpu/opencl/pocl/variant"
)

// seenVersions returns the versions of kernels that launches use, by the launches' names; those
// that name no size are left out.
func seenVersions(p driver.Program, launches []string) map[string]string {
	versions := make(map[string]string)
	for _, v := range launches {
		if version, err := version(p, v); err == nil {
			versions[v] = version
		}
	}
	return versions
}

// version returns the version of a kernel that a launch uses: it is the launch's name, unless
// PoCL chooses the local size.
func version(p driver.Program, name string) (string, error) {
	kernel, size, _ := strings.Cut(name, "/")
	global, auto := strings.CutPrefix(size, variant.Auto)
	var n [3]uintptr
	if _, err := fmt.Sscanf(global, "%d-%d-%d", &n[0], &n[1], &n[2]); err != nil {
		return "", fmt.Errorf("launch %q: %w", name, err)
	}
	if !auto {
		return name, nil
	}
	local, err := localSize(p, n)
	if err != nil {
		return "", err
	}
	rest := strings.TrimPrefix(global, fmt.Sprintf("%d-%d-%d", n[0], n[1], n[2]))
	return fmt.Sprintf("%s/%d-%d-%d%s", kernel, local[0], local[1], local[2], rest), nil
}

// maxProbe bounds the work-items of a launch that only asks for a local size.
const maxProbe = 1 << 32

// probeSource tells which local size the driver chose.
const probeSource = `__kernel void kernstash_local_size(__global uint *size) {
	if (get_global_id(0) == 0 && get_global_id(1) == 0 && get_global_id(2) == 0)
		for (uint i = 0; i < 3; i++)
			size[i] = (uint)get_local_size(i);
}
`

// localSize returns the local size that PoCL chooses for a global size, by launching a kernel of
// ours: PoCL 3.1 goes by the device and the global size alone, and there is nothing to ask it.
func localSize(p driver.Program, global [3]uintptr) (local [3]uint32, err error) {
	for n, i := uintptr(1), 0; i < len(global); i++ {
		if global[i] < 1 || global[i] > maxProbe/n {
			return local, fmt.Errorf("launch over %v: no work-items, or too many", global)
		}
		n *= global[i]
	}
	probe, err := cl.CreateProgramWithSource(p.Context, []byte(probeSource))
	if err != nil {
		return local, err
	}
	defer func() { _ = cl.ReleaseProgram.Status(uintptr(probe)) }()
	if err := cl.BuildProgram(probe, []cl.DeviceID{p.Device}, nil); err != nil {
		return local, err
	}
	k, err := cl.CreateKernel(probe, "kernstash_local_size")
	if err != nil {
		return local, err
	}
	defer func() { _ = cl.ReleaseKernel.Status(uintptr(k)) }()
	buffer, err := cl.CreateBuffer(p.Context, cl.MemReadWrite, int(unsafe.Sizeof(local)))
	if err != nil {
		return local, err
	}
	defer func() { _ = cl.ReleaseMemObject.Status(uintptr(buffer)) }()
	if err := cl.SetKernelArg(k, 0, int(unsafe.Sizeof(buffer)), unsafe.Pointer(&buffer)); err != nil {
		return local, err
	}
	q, err := cl.CreateCommandQueueWithProperties(p.Context, p.Device, 0)
	if err != nil {
		return local, err
	}
	d := Driver{}
	d.Opened(q)
	defer func() {
		_ = d.Closing(q)
		_ = cl.ReleaseCommandQueue.Status(uintptr(q))
	}()
	err = d.Launch(func() error { return cl.EnqueueNDRangeKernel(q, k, len(global), nil, &global, nil, nil, nil) })
	if err != nil {
		return local, err
	}
	err = cl.EnqueueReadBuffer.Status(uintptr(q), uintptr(buffer), 1, 0, unsafe.Sizeof(local), uintptr(unsafe.Pointer(&local)), 0, 0, 0)
	return local, err
}
