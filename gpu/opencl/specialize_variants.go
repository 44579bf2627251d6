package opencl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl/internal/variant"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// specializeVariants takes the binary of a program that was not launched, with
// code for the launches that the options name; the artifact's Variants are those
// that it holds. It returns nil where it holds none.
func (r *Runtime) specializeVariants(p *Program) *store.Artifact {
	versions := make(map[string]string) // of variants
	var all []string
	for _, v := range r.options.SpecializeVariants {
		if version, err := r.version(p.devices[0], v); err == nil {
			versions[v] = version
			_, size, _ := strings.Cut(version, "/")
			all = append(all, size)
		}
	}
	if len(all) == 0 {
		return nil
	}
	var a *store.Artifact
	err := deferredLaunches.aloneSoon(func() (err error) {
		a, err = p.captureWith(strings.Join(sorted(all), ","))
		return err
	})
	if err != nil {
		return nil
	}
	for v, version := range versions {
		if holds(a.Binaries[0].Data, version) {
			a.Variants = append(a.Variants, v)
		}
	}
	if len(a.Variants) == 0 {
		return nil
	}
	slices.Sort(a.Variants)
	return a
}

// version returns the version of a kernel that a launch uses: it is the launch's
// name, unless the driver chooses the local size.
func (r *Runtime) version(d *Device, name string) (string, error) {
	kernel, size, _ := strings.Cut(name, "/")
	global, auto := strings.CutPrefix(size, variant.Auto)
	var n [3]int
	if _, err := fmt.Sscanf(global, "%d-%d-%d", &n[0], &n[1], &n[2]); err != nil {
		return "", fmt.Errorf("%w: launch %q", ErrArgument, name)
	}
	if !auto {
		return name, nil
	}
	local, err := r.localSize(d, n)
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

// localSize returns the local size that the driver chooses for a global size, by
// launching a kernel of ours: PoCL 3.1 goes by the device and the global size
// alone, and there is nothing to ask it.
func (r *Runtime) localSize(d *Device, global [3]int) (local [3]int, err error) {
	if n := int64(1); true {
		for _, g := range global {
			if n *= int64(g); g < 1 || n > maxProbe {
				return local, fmt.Errorf("%w: %v work-items", ErrArgument, global)
			}
		}
	}
	img, err := key.NewImage(key.OpenCLC, []byte(probeSource))
	if err != nil {
		return local, err
	}
	p, err := r.compile(kernstash.Job{Devices: []int{slices.Index(r.context.devices, d)}, Recipe: &key.Recipe{Image: img}})
	if err != nil {
		return local, err
	}
	defer func() { _ = p.Release() }()
	k, err := p.NewKernel("kernstash_local_size")
	if err != nil {
		return local, err
	}
	defer func() { _ = k.Release() }()
	q, err := r.context.NewQueue(d, QueueOptions{})
	if err != nil {
		return local, err
	}
	defer func() { _ = q.Release() }()
	b, err := r.context.NewBuffer(ReadWrite, 3*4)
	if err != nil {
		return local, err
	}
	defer func() { _ = b.Release() }()
	if err := k.Launch(q, global[:], nil, b); err != nil {
		return local, err
	}
	var size [12]byte
	if err := q.Read(b, 0, size[:]); err != nil {
		return local, err
	}
	for i := range local {
		local[i] = int(size[4*i]) | int(size[4*i+1])<<8 | int(size[4*i+2])<<16
	}
	return local, nil
}
