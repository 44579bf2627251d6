//go:build !nogpu

package main

import (
	"fmt"

	"github.com/kernstash/kernstash/gpu/rtc"
)

// The packages that hold the libraries, for people who have not got them.
const (
	nvrtcAdvice  = "install NVIDIA's NVRTC (on Debian: apt-get install libnvrtc11.2, of the component non-free; else the CUDA toolkit, or pip install nvidia-cuda-nvrtc), or put its directory into LD_LIBRARY_PATH"
	hiprtcAdvice = "install AMD's HIPRTC (on Debian or Ubuntu: apt-get install libamdhip64-5; else ROCm), or put its directory into LD_LIBRARY_PATH"
)

// openNVRTC opens the NVRTC that the dynamic linker finds. The error says what to do.
func openNVRTC() (*rtc.Library, error) { return openCompiler(rtc.NVRTC, nvrtcAdvice) }

// openHIPRTC opens the HIPRTC that the dynamic linker finds. The error says what to do.
func openHIPRTC() (*rtc.Library, error) { return openCompiler(rtc.HIPRTC, hiprtcAdvice) }

func openCompiler(api rtc.API, advice string) (*rtc.Library, error) {
	if !hasRuntimes {
		return nil, errNoRuntimes
	}
	l, err := rtc.Open(api, "")
	if err != nil {
		return nil, fmt.Errorf("%w; %s", err, advice)
	}
	return l, nil
}
