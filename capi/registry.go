//go:build linux && cgo

package main

import (
	levelzero "github.com/kernstash/kernstash/gpu/levelzero/layer"
	opencl "github.com/kernstash/kernstash/gpu/opencl/layer"
	rtc "github.com/kernstash/kernstash/gpu/rtc/layer"
	"github.com/kernstash/kernstash/internal/front"
)

// registry has the runtimes that front ends in C ask about, by the names that they use.
var registry = [...]struct {
	runtime string
	open    func() (front.Adapter, error)
}{
	{"opencl", func() (front.Adapter, error) {
		return opencl.OpenFront(opencl.Options{Settings: inputs(), Left: startWorker})
	}},
	{"rtc", func() (front.Adapter, error) { return rtc.Open(rtc.Options{Settings: inputs(), Missed: collectRarely}) }},
	{"levelzero", func() (front.Adapter, error) { return levelzero.Open(levelzero.Options{Settings: inputs()}) }},
}
