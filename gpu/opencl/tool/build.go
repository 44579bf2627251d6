package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// builder builds OpenCL C and SPIR-V for one device.
type builder struct {
	of         tool.BuildOptions
	noOptions  bool
	device     *opencl.Device
	waits      string   // why a program is not stored without a launch; "" if it is
	localSizes [][3]int // to make code for; only on a driver that wants to know
	context    *opencl.Context
	disk       *disk.Store
}

func open(d *opencl.Device, o tool.BuildOptions) (tool.Builder, error) {
	c, err := opencl.Open(d)
	if err != nil {
		return nil, err
	}
	b := &builder{of: o, noOptions: o.NoOptions && d.TellsNoOptions(), device: d, context: c, disk: disk.New(o.Disk)}
	if d.Kind() == opencl.Deferred {
		b.localSizes = o.LocalSizes
		if len(o.LocalSizes) == 0 {
			b.waits = "this driver makes code when a kernel is launched; say with --local-size how it will be"
		}
	}
	return b, nil
}

func (b *builder) Title() string { return title(b.device) }

func (b *builder) Close() error { return errors.Join(b.context.Release(), b.disk.Close()) }

func (b *builder) Build(ctx context.Context, f tool.File) (tool.Built, error) {
	code, err := os.ReadFile(f.Path)
	if err != nil {
		return tool.Built{}, err
	}
	q := kernstash.Request{CompileOptions: b.of.CompileOptions(), NoOptions: b.noOptions}
	if f.Kind == key.SPIRV {
		q.CompileOptions = b.of.Options
	}
	if q.Image, err = kernstash.NewImage(f.Kind, code); err != nil {
		return tool.Built{}, err
	}
	got, err := b.program(ctx, q, b.localSizes)
	if err != nil || got.Counts[stats.DiskHits] == 0 || len(b.localSizes) == 0 {
		return got, err
	}
	entry, err := b.disk.Get(ctx, got.Key)
	switch {
	case err == nil && !ready(entry.Artifact, b.localSizes): // but for other launches
		if err := b.disk.Delete(ctx, got.Key); err != nil {
			return got, err
		}
		return b.program(ctx, q, union(entry.Artifact, b.localSizes))
	case err != nil && b.layerLacks(ctx, got.Key):
		return tool.Built{NotStored: "a read-only layer has it, but not ready for all of these local sizes"}, nil
	}
	return got, nil
}

// cached is a program that a cache holds.
type cached = kernstash.Program[*opencl.Program, *opencl.Kernel]

// program asks the cache for a program.
func (b *builder) program(ctx context.Context, q kernstash.Request, sizes [][3]int) (tool.Built, error) {
	got, err := tool.ThroughCache(b.of.Cache, func(cache *kernstash.Cache) (*cached, error) {
		rt := opencl.NewRuntime(b.context, opencl.RuntimeOptions{SpecializeLocalSizes: sizes})
		return kernstash.NewContext(cache, rt, kernstash.ContextOptions{}).Program(ctx, q)
	})
	got.NotStored = b.waits
	return got, err
}

// layerLacks reports whether a read-only layer answers for a key, with an entry
// that is not ready for all local sizes that are wanted. It is not ours to better.
func (b *builder) layerLacks(ctx context.Context, k key.Key) bool {
	for _, dir := range b.of.Layers {
		d := disk.New(disk.Options{Dir: dir, ReadOnly: true})
		entry, err := d.Get(ctx, k)
		_ = d.Close()
		if err == nil {
			return !ready(entry.Artifact, b.localSizes)
		}
	}
	return false
}

// ready reports whether an artifact has code of every kernel for every local size.
func ready(a *store.Artifact, sizes [][3]int) bool {
	for _, k := range a.Kernels {
		if strings.Contains(k.Attributes, "reqd_work_group_size") && hasVariant(a, k.Name+"/") {
			continue // it has code for the one size that it takes
		}
		for _, s := range sizes {
			name := fmt.Sprintf("%s/%d-%d-%d", k.Name, s[0], s[1], s[2])
			if !slices.Contains(a.Variants, name) && !hasVariant(a, name+"-") {
				return false
			}
		}
	}
	return true
}

func hasVariant(a *store.Artifact, prefix string) bool {
	return slices.ContainsFunc(a.Variants, func(v string) bool { return strings.HasPrefix(v, prefix) })
}

// union returns sizes and the local sizes that an artifact is ready for.
func union(a *store.Artifact, sizes [][3]int) [][3]int {
	all := slices.Clone(sizes)
	for _, v := range a.Variants {
		_, size, _ := strings.Cut(v, "/")
		var s [3]int
		if n, _ := fmt.Sscanf(size, "%d-%d-%d", &s[0], &s[1], &s[2]); n == len(s) && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}
