package opencl

import (
	"errors"
	"fmt"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/key"
)

// maxProbe bounds the work-items of a launch that only asks for a local size.
const maxProbe = 1 << 32

// probeSource tells which local size the driver chose.
const probeSource = `__kernel void kernstash_local_size(__global uint *size) {
	if (get_global_id(0) == 0 && get_global_id(1) == 0 && get_global_id(2) == 0)
		for (uint i = 0; i < 3; i++)
			size[i] = (uint)get_local_size(i);
}
`

// localSize returns the local size that the driver of a device chooses for a global size, by
// launching a kernel of ours: PoCL 3.1 goes by the device and the global size alone, and there is
// nothing to ask it.
func (r *Runtime) localSize(device []int, global [3]uintptr) (local [3]uint32, err error) {
	n, sizes := uintptr(1), make([]int, len(global))
	for i, size := range global {
		if size < 1 || size > maxProbe/n {
			return local, fmt.Errorf("launch over %v: no work-items, or too many", global)
		}
		n *= size
		sizes[i] = int(size)
	}
	image, err := key.NewImage(key.OpenCLC, []byte(probeSource))
	if err != nil {
		return local, err
	}
	options := key.BuildOptions{Absent: true}
	p, err := r.compile(kernstash.Job{Devices: device, Recipe: &key.Recipe{Image: image, Options: options}})
	if err != nil {
		return local, err
	}
	defer func() { _ = p.Release() }()
	k, err := p.NewKernel("kernstash_local_size")
	if err != nil {
		return local, err
	}
	defer func() { _ = k.Release() }()
	b, err := r.context.NewBuffer(WriteOnly, len(Bytes(local[:])))
	if err != nil {
		return local, err
	}
	defer func() { _ = b.Release() }()
	q, err := r.context.NewQueue(p.devices[0], QueueOptions{})
	if err != nil {
		return local, err
	}
	defer func() { _ = q.Release() }()
	err = errors.Join(k.Launch(q, sizes, nil, b), q.Read(b, 0, Bytes(local[:])))
	return local, err
}
