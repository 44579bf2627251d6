//go:build linux

package main

// #include <stdlib.h>
// #include "start.h"
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/kernstash/kernstash/store"
)

var errMemory = errors.New("out of memory")

// newBlob copies an artifact into C's memory; its first binary is the best.
func newBlob(a *store.Artifact) (*C.ks_blob, error) {
	best := a.Binaries[0]
	if len(best.Data) == 0 {
		return nil, errors.New("an artifact without code")
	}
	var c C.kernstash_artifact
	// What C copies is pinned by cgo for the call only, and a structure of Go's may
	// not point to memory of Go's: so everything but the code goes by malloc.
	free := func(s *C.char) { C.free(unsafe.Pointer(s)) }
	if a.Log != "" {
		c.log = C.CString(a.Log)
		defer free(c.log)
	}
	names := make([]*C.char, len(a.Variants))
	for i, v := range a.Variants {
		names[i] = C.CString(v)
		defer free(names[i])
	}
	if n := len(names); n > 0 {
		list := (**C.char)(C.malloc(C.size_t(n) * C.size_t(unsafe.Sizeof(names[0]))))
		if list == nil {
			return nil, errMemory
		}
		defer C.free(unsafe.Pointer(list))
		copy(unsafe.Slice(list, n), names)
		c.launches, c.launch_count = list, C.size_t(n)
	}
	c.size = C.size_t(unsafe.Sizeof(c))
	c.data_size = C.size_t(len(best.Data))
	c.cost, c.form = C.int64_t(a.Cost), C.uint32_t(best.Form)
	b := C.ks_blob_with(&c, unsafe.Pointer(&best.Data[0]))
	if b == nil {
		return nil, fmt.Errorf("%d bytes: %w", len(best.Data), errMemory)
	}
	return b, nil
}

// artifact returns what a blob holds. own says whether the code is copied; else it
// is good for as long as the blob is.
func artifact(b *C.ks_blob, own bool) *store.Artifact {
	c := &b.artifact
	data := unsafe.Slice((*byte)(c.data), int(c.data_size))
	if own {
		data = slices.Clone(data)
	}
	a := &store.Artifact{
		Binaries: []store.Binary{{Form: store.Form(c.form), Data: data}},
		Log:      text(c.log), Cost: time.Duration(c.cost), Created: time.Now(),
	}
	for _, name := range unsafe.Slice(c.launches, int(c.launch_count)) {
		a.Variants = append(a.Variants, strings.Clone(text(name)))
	}
	slices.Sort(a.Variants)
	a.Variants = slices.Compact(a.Variants)
	return a
}
