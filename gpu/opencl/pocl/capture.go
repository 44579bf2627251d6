package pocl

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
	"github.com/kernstash/kernstash/gpu/opencl/internal/driver"
	"github.com/kernstash/kernstash/store"
)

// Binary returns a program's binary. It waits for a moment without launches.
func (Driver) Binary(p driver.Program) (binary []byte, err error) {
	err = soon(func() (err error) {
		id, err := p.ID()
		if err == nil {
			binary, err = cl.GetProgramBinary(id, p.Device)
		}
		return err
	})
	return binary, err
}

// Capture returns what PoCL made of a program, and which of the variants that has; an error that
// wraps kernstash.ErrBusy where something is launched meanwhile.
func (Driver) Capture(p driver.Program, variants []string) (a *store.Artifact, err error) {
	err = exclusively(func() (err error) {
		a, err = capture(p)
		return err
	})
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
