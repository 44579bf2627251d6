package storetest

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// Device returns a device that no driver names.
func Device() key.Device {
	return key.Device{
		API: "opencl", Platform: "Test Platform", Name: "Test Device", Version: "OpenCL 3.0", Driver: "1.0",
		Traits:   []key.Pair{{Name: "compute-units", Value: "8"}},
		Compiler: []key.Pair{{Name: "libtest", Value: "build-id-1"}},
	}
}

// Recipe returns a recipe whose image is code, with these options.
func Recipe(t testing.TB, code, options string) *key.Recipe {
	t.Helper()
	img, err := key.NewImage(key.OpenCLC, []byte(code))
	if err != nil {
		t.Fatal(err)
	}
	return &key.Recipe{Device: Device(), Image: img, Options: key.NewOptions(options, "")}
}

// Code returns n bytes that depend on seed, with zeros among them.
func Code(seed string, n int) []byte {
	b := append([]byte("\x7fCODE\x00\x00"), seed...)
	for i := 0; len(b) < n; i++ {
		b = append(b, byte(i), byte(i>>8), 0, seed[i%len(seed)])
	}
	return b[:n]
}

// Entry returns an entry of a recipe, of final form, with size bytes of code.
func Entry(rec *key.Recipe, seed string, size int) *store.Entry {
	return &store.Entry{Key: rec.Key(), Recipe: rec, Artifact: &store.Artifact{
		Binaries: []store.Binary{{Form: store.FormFinal, Data: Code(seed, size)}},
		Log:      "warning: " + seed,
		Cost:     120 * time.Millisecond,
		Created:  time.Date(2030, 5, 17, 1, 2, 3, 4, time.UTC),
		Kernels: []store.Kernel{{
			Name: "kernel_" + seed, Attributes: "reqd_work_group_size(8,1,1)",
			Args: []store.Arg{{Name: "out", TypeName: "float*", Address: 0x119b, Access: 0x11a3, TypeQual: 1}},
		}},
	}}
}

// New returns an entry of its own for a seed.
func New(t testing.TB, seed string, size int) *store.Entry {
	t.Helper()
	return Entry(Recipe(t, fmt.Sprintf("kernel void k() {} // %s", seed), "-DSEED="+seed), seed, size)
}

// sameCode reports whether an artifact is one that Entry made of a seed.
func sameCode(a *store.Artifact, seed string) bool {
	return len(a.Binaries) == 1 && bytes.Equal(a.Binaries[0].Data, Code(seed, len(a.Binaries[0].Data))) &&
		a.Log == "warning: "+seed
}
