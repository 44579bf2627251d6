package pocl

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
	"github.com/kernstash/kernstash/gpu/opencl/internal/driver"
	"github.com/kernstash/kernstash/store"
)

// Binary returns a program's binary. It waits for a moment without launches.
func (Driver) Binary(p driver.Program) ([]byte, error) {
	return soon(func() ([]byte, error) {
		id, err := p.ID()
		if err != nil {
			return nil, err
		}
		return cl.GetProgramBinary(id, p.Device)
	})
}

// Capture returns what PoCL made of a program, and which of the variants that has; an error that
// wraps kernstash.ErrBusy where something is launched meanwhile.
func (Driver) Capture(p driver.Program, variants []string) (*store.Artifact, error) {
	a, err := exclusively(func() (*store.Artifact, error) { return capture(p) })
	if err != nil {
		return nil, err
	}
	for _, v := range variants {
		if holds(a.Binaries[0].Data, v) {
			a.Variants = append(a.Variants, v)
		}
	}
	return a, nil
}

// capture asks for all that PoCL has of a program. Launches must not be under way.
func capture(p driver.Program) (*store.Artifact, error) {
	id, err := p.ID()
	if err != nil {
		return nil, err
	}
	binary, err := cl.GetProgramBinary(id, p.Device)
	if err != nil {
		return nil, fmt.Errorf("get binary: %w", err)
	}
	if len(binary) == 0 {
		return nil, fmt.Errorf("%w: the driver gives no binary", kernstash.ErrNotCacheable)
	}
	kernels, err := driver.Kernels(id)
	if err != nil {
		return nil, err
	}
	return &store.Artifact{Binaries: []store.Binary{{Form: store.FormDeferred, Data: binary}}, Kernels: kernels}, nil
}

// holds reports whether a binary holds the code of a variant. It is a dump of PoCL's directory
// of the program: file names such as "/add/64-1-1-goffs0-smallgrid/add.so", each in front of its
// content. Where PoCL chose the local size, any version of the kernel but the generic one,
// "0-0-0", may be the one that it chose.
func holds(binary []byte, name string) bool {
	kernel, size, _ := strings.Cut(name, "/")
	if !strings.HasPrefix(size, auto) {
		return bytes.Contains(binary, []byte("/"+name+"/"))
	}
	for dir := []byte("/" + kernel + "/"); ; {
		i := bytes.Index(binary, dir)
		if i < 0 {
			return false
		}
		binary = binary[i+len(dir):]
		if len(binary) > 0 && binary[0] >= '1' && binary[0] <= '9' {
			return true
		}
	}
}

// specializeVariable is read by PoCL with getenv each time a binary is first asked of a program:
// a list of the versions to make of every kernel.
const specializeVariable = "POCL_BINARY_SPECIALIZE_WG"

// environment guards the variable. os.Setenv reaches the C environment, with cgo and without
// (package dl's tests show it).
var environment sync.Mutex

// Prepare has PoCL make code before any launch; nil where it makes none.
func (Driver) Prepare(p driver.Program, o driver.Ahead) *store.Artifact {
	versions := wantedVersions(p, o.LocalSizes)
	for _, v := range o.Variants {
		if version := version(&o, v); version != "" {
			versions[v] = version
		}
	}
	if a := specialize(p, versions); a != nil || !o.Unlaunched {
		return a
	}
	return take(p, nil)
}

// version returns the version of a kernel that a launch uses: it is the launch's name, unless
// PoCL chooses the local size; "" where the name names no size.
func version(o *driver.Ahead, name string) string {
	kernel, size, _ := strings.Cut(name, "/")
	global, chosen := strings.CutPrefix(size, auto)
	var n [3]uintptr
	if _, err := fmt.Sscanf(global, "%d-%d-%d", &n[0], &n[1], &n[2]); err != nil {
		return ""
	}
	if !chosen {
		return name
	}
	local, err := o.LocalSize(n)
	if err != nil {
		return ""
	}
	rest := strings.TrimPrefix(global, fmt.Sprintf("%d-%d-%d", n[0], n[1], n[2]))
	return fmt.Sprintf("%s/%d-%d-%d%s", kernel, local[0], local[1], local[2], rest)
}

// specialize takes the binary of a program that was not launched, with code for versions, by
// the names of their variants; the artifact's Variants are those that it holds. It returns nil
// where it holds none.
func specialize(p driver.Program, versions map[string]string) *store.Artifact {
	var sizes []string
	for _, v := range versions {
		_, size, _ := strings.Cut(v, "/")
		sizes = append(sizes, size)
	}
	if len(sizes) == 0 {
		return nil
	}
	slices.Sort(sizes)
	a := take(p, slices.Compact(sizes))
	if a == nil {
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

// take takes the binary of a program that was not launched, with versions of every kernel; nil
// where PoCL gives none: the program works, uncached.
func take(p driver.Program, versions []string) *store.Artifact {
	a, err := soon(func() (*store.Artifact, error) {
		if len(versions) > 0 {
			environment.Lock()
			defer environment.Unlock()
			before, set := os.LookupEnv(specializeVariable)
			if err := os.Setenv(specializeVariable, strings.Join(versions, ",")); err != nil {
				return nil, err
			}
			defer func() {
				if set {
					_ = os.Setenv(specializeVariable, before)
				} else {
					_ = os.Unsetenv(specializeVariable)
				}
			}()
		}
		return capture(p)
	})
	if err != nil {
		return nil
	}
	return a
}

// wantedVersions returns versions of every kernel for the local sizes that are wanted, for zero
// offsets and small grids: what nearly all launches are. A kernel that requires a local size gets
// code for that one. A version is its own variant.
func wantedVersions(p driver.Program, wanted [][3]int) map[string]string {
	versions := make(map[string]string)
	program, err := p.ID()
	if err != nil || len(wanted) == 0 {
		return versions
	}
	ids, _ := cl.CreateKernelsInProgram(program)
	for _, id := range ids {
		sizes := wanted
		const param = cl.KernelCompileWorkGroupSize
		required := cl.Sizes(cl.Info("clGetKernelWorkGroupInfo", param, uintptr(id), uintptr(p.Device)))
		if required != [3]int{} {
			sizes = [][3]int{required}
		}
		name := cl.Text(cl.Info("clGetKernelInfo", cl.KernelFunctionName, uintptr(id)))
		_ = cl.Status("clReleaseKernel", uintptr(id))
		for _, s := range sizes { // a dimension of zero is one
			v := fmt.Sprintf("%s/%d-%d-%d-goffs0-smallgrid", name, max(1, s[0]), max(1, s[1]), max(1, s[2]))
			versions[v] = v
		}
	}
	return versions
}
