package rtc_test

import (
	"bytes"
	"testing"

	"github.com/kernstash/kernstash/gpu/rtc"
)

// NVRTC 11.8 obeys NVRTCWIZ: with this value it makes line information, as other NVRTCs do
// with NVRTC_APPEND_FLAGS=-lineinfo. Then all of a program's name is in the key.
func TestNamesWithVariables(t *testing.T) { // not parallel: it sets a variable
	t.Setenv("NVRTCWIZ", "3153394")
	t.Setenv("NVRTC_APPEND_FLAGS", "-lineinfo")
	l, dir := open(t, rtc.NVRTC), cacheDir(t)
	for _, name := range []string{"/home/a/k.cu", "/home/b/k.cu"} {
		r := rtc.Request{Source: []byte("extern \"C\" __global__ void k(int *p) { *p = 1; }"), Name: name, Options: []string{"-arch=compute_80"}}
		o, hit := outcome(t, l, dir, r)
		if ptx, _ := o.Get(rtc.PTX); hit || !bytes.Contains(ptx, []byte(name)) {
			t.Errorf("%s: hit is %v:\n%s", name, hit, ptx)
		}
		if _, hit := outcome(t, l, dir, r); !hit {
			t.Errorf("%s: no hit the second time", name)
		}
	}
}
