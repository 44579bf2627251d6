//go:build linux

package main

// #include "layer_calls.h"
import "C"

import (
	"time"
	"unsafe"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/gpu/opencl/layer"
	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// The bounds of what is read. What is beyond makes no sense.
const (
	maxLayerCount = 1 << 20 // of anything
	maxLayerBytes = 1 << 30 // of a piece of code
	maxLayerText  = 1 << 24
)

// layerView returns C's memory as a slice that shares it; nil where there is none.
func layerView(b C.ksl_bytes) []byte {
	if b.data == nil {
		return nil
	}
	if b.size > maxLayerBytes {
		panic("too many bytes")
	}
	return unsafe.Slice((*byte)(b.data), int(b.size))
}

// layerWords returns a string of C's; nil where there is none.
func layerWords(b C.ksl_bytes) *string {
	if b.data == nil {
		return nil
	}
	if b.size > maxLayerText {
		panic("too long a text")
	}
	s := string(layerView(b))
	return &s
}

// layerText is layerWords where none is the empty string.
func layerText(b C.ksl_bytes) string {
	if s := layerWords(b); s != nil {
		return *s
	}
	return ""
}

// layerList returns an array of C as a slice that shares it.
func layerList[T any](first *T, n C.uint32_t) []T {
	if n == 0 {
		return nil
	}
	if first == nil || n > maxLayerCount {
		panic("an array that makes no sense")
	}
	return unsafe.Slice(first, int(n))
}

// readLayerRequest returns a request whose bytes are C's; false for one that makes no
// sense.
func readLayerRequest(c *C.ksl_request) (r *layer.Request, ok bool) {
	defer func() {
		if recover() != nil {
			r, ok = nil, false
		}
	}()
	least := C.uint32_t(unsafe.Offsetof(c.environment))
	if c.size < least || c.driver == nil || c.ndevices == 0 || c.ndevices > 64 || c.nunits == 0 {
		return nil, false
	}
	r = &layer.Request{
		What: layer.What(c.what), Options: layerWords(c.options),
		Driver: opencl.DriverEntries{
			Platform:        uintptr(c.driver.platform),
			GetPlatformInfo: uintptr(c.driver.get_platform_info),
			GetDeviceInfo:   uintptr(c.driver.get_device_info),
		},
	}
	for _, d := range layerList(c.devices, c.ndevices) {
		r.Devices = append(r.Devices, uintptr(d))
	}
	for _, u := range layerList(c.units, c.nunits) {
		r.Units = append(r.Units, readLayerUnit(&u))
	}
	if c.size >= least+C.uint32_t(unsafe.Sizeof(c.environment)) && c.environment != nil {
		first := c.environment
		r.Environ = func() []string { return layerEnvironment(first) }
	}
	if c.size >= C.uint32_t(unsafe.Offsetof(c.directories)+unsafe.Sizeof(c.directories)) {
		drivers.IntelSettings.Saw(c.directories&C.KSL_SETTINGS != 0, c.directories&C.KSL_MOVED != 0)
	}
	return r, true
}

func readLayerUnit(c *C.ksl_unit) layer.Unit {
	u := layer.Unit{Options: layerWords(c.options), Compiled: uint64(c.compiled)}
	switch c.kind {
	case C.KSL_OPENCL_C:
		u.Kind = key.OpenCLC
	case C.KSL_SPIRV:
		u.Kind = key.SPIRV
	default:
		panic("a kind of code that is not known")
	}
	for _, s := range layerList(c.strings, c.nstrings) {
		u.Strings = append(u.Strings, layerView(s))
	}
	for _, h := range layerList(c.headers, c.nheaders) {
		u.Headers = append(u.Headers, key.Header{Name: layerText(h.name), Content: layerView(h.code)})
	}
	for _, k := range layerList(c.constants, c.nconstants) {
		u.Constants = append(u.Constants, key.SpecConstant{ID: uint32(k.id), Value: layerView(k.value)})
	}
	return u
}

// layerEnvironment returns a list of C's strings that ends with NULL.
func layerEnvironment(first **C.char) []string {
	all := []string{}
	for i := range maxLayerCount {
		s := *(**C.char)(unsafe.Add(unsafe.Pointer(first), uintptr(i)*unsafe.Sizeof(first)))
		if s == nil {
			break
		}
		all = append(all, C.GoString(s))
	}
	return all
}

// readLayerOutcomes returns outcomes whose binaries are C's.
func readLayerOutcomes(n C.uint32_t, first *C.ksl_outcome) (outcomes []layer.Outcome, ok bool) {
	defer func() {
		if recover() != nil {
			outcomes, ok = nil, false
		}
	}()
	for _, c := range layerList(first, n) {
		o := layer.Outcome{
			Result: layer.Result(c.result), Code: int(c.code),
			Took: time.Duration(min(uint64(c.nanoseconds), 1<<62)),
		}
		if o.Result == layer.Built || o.Result == layer.Failed {
			o.Artifact.Binary = layerView(c.artifact.binary)
			o.Artifact.Log = layerText(c.artifact.log)
			for _, k := range layerList(c.artifact.kernels, c.artifact.nkernels) {
				o.Artifact.Kernels = append(o.Artifact.Kernels, readLayerKernel(&k))
			}
		}
		outcomes = append(outcomes, o)
	}
	return outcomes, true
}

// readLayerKernel returns a kernel, without its arguments where the driver does not
// tell of all of them.
func readLayerKernel(c *C.ksl_kernel) store.Kernel {
	k := store.Kernel{Name: layerText(c.name), Attributes: layerText(c.attributes)}
	for _, a := range layerList(c.args, c.nargs) {
		if a.name.data == nil {
			k.Args = nil
			break
		}
		k.Args = append(k.Args, store.Arg{
			Name: layerText(a.name), TypeName: layerText(a._type),
			Address: uint64(a.address), Access: uint64(a.access), TypeQual: uint64(a.qualifiers),
		})
	}
	return k
}

// layerSizes returns the sizes of a launch; nil where there are none.
func layerSizes(first *C.size_t, n C.uint32_t) []uintptr {
	if first == nil {
		return nil
	}
	var all []uintptr
	for _, s := range unsafe.Slice(first, int(n)) {
		all = append(all, uintptr(s))
	}
	return all
}
