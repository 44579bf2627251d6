//go:build linux

package main

// #include <stdlib.h>
// #include "layer_calls.h"
import "C"

import (
	goruntime "runtime"
	"sync"
	"unsafe"

	"github.com/kernstash/kernstash/gpu/opencl/layer"
	"github.com/kernstash/kernstash/store"
)

// layerHeld keeps what replies point to.
var layerHeld heldReplies

// layerWriter makes C's structures of Go's memory, which it pins. Counting comes
// first: what C points to must not move.
type layerWriter struct {
	pin     *goruntime.Pinner
	kernels []C.ksl_kernel
	args    []C.ksl_arg
	text    []byte
}

// writeArtifacts returns what a reply tells of the devices.
func writeArtifacts(ticket uint64, artifacts []layer.Artifact) *C.ksl_artifact {
	w := layerWriter{pin: new(goruntime.Pinner)}
	var kernels, args int
	text := 1 // so that there is a first byte
	for i := range artifacts {
		a := &artifacts[i]
		text += len(a.Log)
		kernels += len(a.Kernels)
		for j := range a.Kernels {
			k := &a.Kernels[j]
			text += len(k.Name) + len(k.Attributes)
			args += len(k.Args)
			for _, arg := range k.Args {
				text += len(arg.Name) + len(arg.TypeName)
			}
		}
	}
	all := make([]C.ksl_artifact, len(artifacts))
	w.kernels, w.args, w.text = make([]C.ksl_kernel, 0, kernels), make([]C.ksl_arg, 0, args), make([]byte, 0, text)
	w.pin.Pin(&all[0])
	w.pin.Pin(unsafe.SliceData(w.text))
	if kernels > 0 {
		w.pin.Pin(unsafe.SliceData(w.kernels))
	}
	if args > 0 {
		w.pin.Pin(unsafe.SliceData(w.args))
	}
	for i := range artifacts {
		w.artifact(&all[i], &artifacts[i])
	}
	layerHeld.keep(ticket, w.pin)
	return &all[0]
}

func (w *layerWriter) artifact(to *C.ksl_artifact, a *layer.Artifact) {
	to.kind = C.uint32_t(a.Kind)
	if a.Done {
		to.done = 1
	}
	if len(a.Binary) == 0 {
		return // a hole
	}
	to.binary, to.answer, to.log = w.bytes(a.Binary), w.bytes(a.Answer), w.string(a.Log)
	if a.Unread > 0 {
		to.answer.size = C.size_t(a.Unread)
	}
	first := len(w.kernels)
	for i := range a.Kernels {
		w.kernels = append(w.kernels, w.kernel(&a.Kernels[i]))
	}
	if n := len(a.Kernels); n > 0 {
		to.nkernels, to.kernels = C.uint32_t(n), &w.kernels[first]
	}
}

func (w *layerWriter) kernel(k *store.Kernel) C.ksl_kernel {
	c := C.ksl_kernel{name: w.string(k.Name), attributes: w.string(k.Attributes)}
	first := len(w.args)
	for _, a := range k.Args {
		w.args = append(w.args, C.ksl_arg{
			name: w.string(a.Name), _type: w.string(a.TypeName),
			address: C.uint32_t(a.Address), access: C.uint32_t(a.Access), qualifiers: C.uint64_t(a.TypeQual),
		})
	}
	if n := len(k.Args); n > 0 {
		c.nargs, c.args = C.uint32_t(n), &w.args[first]
	}
	return c
}

// bytes returns bytes for C; NULL for none.
func (w *layerWriter) bytes(b []byte) C.ksl_bytes {
	if len(b) == 0 {
		return C.ksl_bytes{}
	}
	w.pin.Pin(&b[0])
	return C.ksl_bytes{data: unsafe.Pointer(&b[0]), size: C.size_t(len(b))}
}

// string returns a string for C, which may be empty.
func (w *layerWriter) string(s string) C.ksl_bytes {
	at := len(w.text)
	w.text = append(w.text, s...)
	return C.ksl_bytes{data: unsafe.Add(unsafe.Pointer(unsafe.SliceData(w.text)), at), size: C.size_t(len(s))}
}

// layerReasons are those of KSL_PASS as C's strings, which are never freed: they are
// few.
var layerReasons struct {
	sync.Mutex
	known map[string]*C.char
}

const maxLayerReasons = 256

// layerReason returns a reason as a string of C's.
func layerReason(text string) *C.char {
	layerReasons.Lock()
	defer layerReasons.Unlock()
	if c := layerReasons.known[text]; c != nil {
		return c
	}
	if len(layerReasons.known) >= maxLayerReasons {
		text = "other"
		if c := layerReasons.known[text]; c != nil {
			return c
		}
	}
	if layerReasons.known == nil {
		layerReasons.known = make(map[string]*C.char)
	}
	c := C.CString(text)
	layerReasons.known[text] = c
	return c
}
