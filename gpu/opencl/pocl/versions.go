package pocl

import (
	"fmt"
	"strings"

	"github.com/kernstash/kernstash/gpu/opencl/internal/driver"
	"github.com/kernstash/kernstash/gpu/opencl/pocl/variant"
)

// seenVersions returns the versions of kernels that launches use, by the launches' names; those
// that name no size are left out.
func seenVersions(o driver.Ahead) map[string]string {
	versions := make(map[string]string)
	for _, v := range o.Variants {
		if version, err := version(o, v); err == nil {
			versions[v] = version
		}
	}
	return versions
}

// version returns the version of a kernel that a launch uses: it is the launch's name, unless
// PoCL chooses the local size.
func version(o driver.Ahead, name string) (string, error) {
	kernel, size, _ := strings.Cut(name, "/")
	global, auto := strings.CutPrefix(size, variant.Auto)
	var n [3]uintptr
	if _, err := fmt.Sscanf(global, "%d-%d-%d", &n[0], &n[1], &n[2]); err != nil {
		return "", fmt.Errorf("launch %q: %w", name, err)
	}
	if !auto {
		return name, nil
	}
	local, err := o.LocalSize(n)
	if err != nil {
		return "", err
	}
	rest := strings.TrimPrefix(global, fmt.Sprintf("%d-%d-%d", n[0], n[1], n[2]))
	return fmt.Sprintf("%s/%d-%d-%d%s", kernel, local[0], local[1], local[2], rest), nil
}
