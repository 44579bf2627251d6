//go:build linux && cgo

package main

// #include "start.h"
import "C"

import (
	"os"
	"sync/atomic"
	"unsafe"

	levelzero "github.com/kernstash/kernstash/gpu/levelzero/layer"
	"github.com/kernstash/kernstash/gpu/opencl"
	opencllayer "github.com/kernstash/kernstash/gpu/opencl/layer"
	rtc "github.com/kernstash/kernstash/gpu/rtc/layer"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/key"
)

// registry has the runtimes that front ends in C ask about, by the names that they use.
var registry = [...]struct {
	runtime string
	open    func() (front.Adapter, error)
}{
	{"opencl", func() (front.Adapter, error) {
		return opencllayer.Open(opencllayer.Options{Options: hosted(), Left: startWorker})
	}},
	{"rtc", func() (front.Adapter, error) { return rtc.Open(hosted(), collectRarely) }},
	{"levelzero", func() (front.Adapter, error) { return levelzero.Open(hosted()) }},
}

// hosted are the options of whatever is in the process of a host.
func hosted() inprocess.Options {
	return inprocess.Options{Settings: inputs(), Unwritten: (*atomic.Int32)(unsafe.Pointer(&C.ks_unwritten))}
}

// askDevice identifies a device through functions of the host's loader.
func askDevice(platform, id, platformInfo, deviceInfo uintptr) (key.Device, steady, error) {
	driver, err := opencl.PlatformOf(opencl.DriverEntries{
		Platform: platform, GetPlatformInfo: platformInfo, GetDeviceInfo: deviceInfo,
		// Of the library's load: what the host changed since then the driver may
		// have read before or after.
		Environ: os.Environ(),
	})
	if err != nil {
		return key.Device{}, nil, err
	}
	root, err := driver.Root(id)
	if err != nil {
		return key.Device{}, nil, err
	}
	device := driver.Device(root)
	identity, err := device.Identify()
	return identity, device.SteadyVariables, err
}
