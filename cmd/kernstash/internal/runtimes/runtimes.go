// Package runtimes lists the GPU runtimes that the command knows.
package runtimes

import (
	cuda "github.com/kernstash/kernstash/gpu/cuda/tool"
	levelzero "github.com/kernstash/kernstash/gpu/levelzero/tool"
	opencl "github.com/kernstash/kernstash/gpu/opencl/tool"
	rtc "github.com/kernstash/kernstash/gpu/rtc/tool"
	"github.com/kernstash/kernstash/gpu/tool"
)

// All are in the order in which they are looked at, and in which a device is looked for.
var All = []*tool.Runtime{&opencl.Runtime, &cuda.Runtime, &levelzero.Runtime, &rtc.NVRTC, &rtc.HIPRTC}
