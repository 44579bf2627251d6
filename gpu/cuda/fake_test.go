//go:build !nogpu

package cuda_test

import (
	"testing"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
)

// failNext makes the next calls of a function of the driver fail, after skip that
// do not. Tests that use it do not run beside others.
func failNext(t testing.TB, name string, code, skip, times int) {
	t.Helper()
	b := dl.CString(name)
	f := fakeFunction(t, "fake_fail")
	if f.Call(uintptr(unsafe.Pointer(&b[0])), uintptr(code), uintptr(skip), uintptr(times)) != 0 {
		t.Fatalf("%s cannot be made to fail", name)
	}
	t.Cleanup(func() { f.Call(uintptr(unsafe.Pointer(&b[0])), 0, 0, 0) })
}

// left returns how many objects of each kind the driver has.
func left(t testing.TB) map[string]int {
	t.Helper()
	f := fakeFunction(t, "fake_count")
	m := make(map[string]int)
	for name, kind := range map[string]byte{"contexts": 'c', "modules": 'm', "streams": 's', "events": 'e', "links": 'l', "memory": 'p', "released twice": 'x'} {
		m[name] = int(int32(f.Call(uintptr(kind))))
	}
	return m
}

// launchedWith returns the bytes of the arguments of the last launch.
func launchedWith(t testing.TB) []byte {
	t.Helper()
	b := make([]byte, 4096)
	n := fakeFunction(t, "fake_launched").Call(uintptr(unsafe.Pointer(&b[0])))
	return b[:int32(n)]
}
