//go:build linux

package stage

import (
	"bytes"
	"os"
	"sync"
	"testing"

	"github.com/kernstash/kernstash/internal/cbuild"
)

var interposers = sync.OnceValues(func() (old string, err error) {
	if err := cbuild.Shim("preload", Interposer, built); err != nil {
		return "", err
	}
	b, err := os.ReadFile("/usr/lib/x86_64-linux-gnu/libOpenCL.so.1")
	if err != nil {
		return "", err
	}
	old = Built("old")
	if err := os.Mkdir(old, 0o700); err != nil {
		return "", err
	}
	b = bytes.ReplaceAll(b, []byte("OPENCL_LAYERS\x00"), []byte("OPENCL_NOBODY\x00"))
	return old, os.WriteFile(Built("old/libOpenCL.so.1"), b, 0o700)
})

// Interposers builds Interposer, beside each build of the shim; and a loader that knows no
// layers: this machine's, which is to look at another variable. It returns the folder of
// that.
func Interposers(t testing.TB) (old string) {
	t.Helper()
	old, err := interposers()
	if err != nil {
		t.Fatal(err)
	}
	return old
}

// Preloaded is the environment of `kernstash run` where it has chosen a front end, with the fake
// library unless WithLibrary names another. It needs Interposers.
func Preloaded(t testing.TB, frontEnd string) []string {
	t.Helper()
	Program(t, "libkernstash.so.1")
	env := []string{"KERNSTASH_INJECT=" + frontEnd}
	switch frontEnd {
	case "preload":
		return append(env, "LD_PRELOAD="+Built(Shim)+":"+Built(Interposer))
	case "auto":
		return append(env, "LD_PRELOAD="+Built(Shim)+":"+Built(Interposer), "OPENCL_LAYERS="+Built(Shim))
	}
	return append(env, "LD_PRELOAD="+Built(Interposer), "OPENCL_LAYERS="+Built(Shim))
}

// Opened says to a program which library to open, and how; see testdata/opened.h.
func Opened(library, how string) []string { return []string{"OPENED=" + library, "OPENED_HOW=" + how} }
