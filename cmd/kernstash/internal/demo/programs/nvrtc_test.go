//go:build !nogpu && linux

package programs

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/key"
)

// TestNVRTCTakesThePrograms compiles the CUDA C++ for a real architecture and for a
// virtual one: whole, and without a warning.
func TestNVRTCTakesThePrograms(t *testing.T) {
	t.Parallel()
	l, err := rtc.Open(rtc.NVRTC, "")
	if err != nil {
		t.Fatalf("%v: install NVRTC (on Debian, apt-get install libnvrtc11.2, component non-free)", err)
	}
	for _, p := range append(All(), Warm()) {
		for arch, form := range map[string]rtc.Form{"sm_80": rtc.CUBIN, "compute_80": rtc.PTX} {
			o, err := l.Compile(rtc.Request{
				Source: p.Texts[key.CUDACpp], Name: p.Name + ".cu",
				Options: append(strings.Fields(p.Options), "--gpu-architecture="+arch),
			})
			if err != nil {
				t.Errorf("%s for %s: %v", p.Name, arch, err)
				continue
			}
			code, ok := o.Get(form)
			if !ok || !bytes.Contains(code, []byte(p.Name)) {
				t.Errorf("%s for %s: %d bytes of %v without the kernel", p.Name, arch, len(code), form)
			}
			if log := o.Log(); log != "" {
				t.Errorf("%s for %s: %s", p.Name, arch, log)
			}
		}
	}
}
