package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/demo"
)

// demoRuntime is a runtime that the demonstration's programs run on.
type demoRuntime struct {
	name    string // as --runtime takes it
	title   string
	devices func() ([]demoDevice, error) // none is an error that says what to do

	// What the runtime itself keeps, which is what kernstash is compared with: a
	// word for the table, and a sentence.
	peer, peerNote string
}

// demoDevice is a device of a runtime.
type demoDevice interface {
	title() string // what --device is compared with

	// bare returns a machine that builds as an application without kernstash does,
	// and cached one that builds through a cache, which is closed after it.
	bare() (demoMachine, error)
	cached(*kernstash.Cache) (demoMachine, error)
}

// demoMachine builds and launches on a device, until it is closed.
type demoMachine interface {
	demo.Machine
	close() error
}

// demoRuntimes are all, in the order in which they are looked for.
var demoRuntimes = []demoRuntime{
	{
		name: "opencl", title: "OpenCL", devices: openclDevices,
		peer:     "driver's cache",
		peerNote: "Driver's cache: without kernstash, the driver's own cache filled by another process.",
	},
	{
		name: "cuda", title: "CUDA", devices: cudaDevices,
		peer: "alone",
		peerNote: "Alone: without kernstash, NVIDIA's own caches filled by another process. NVRTC compiles anew in each\n" +
			"process; the driver keeps only what it makes of PTX, and here NVRTC makes machine code.",
	},
	{
		name: "levelzero", title: "Level Zero", devices: levelzeroDemoDevices,
		peer: "driver's cache",
		peerNote: "Driver's cache: without kernstash, the driver's own cache (l0_cache) filled by another process; some\n" +
			"releases keep none for SPIR-V.",
	},
}

func demoRuntimeNames() []string {
	var names []string
	for _, r := range demoRuntimes {
		names = append(names, r.name)
	}
	return names
}

// peerWord is the first word of the peer: "driver".
func (r demoRuntime) peerWord() string {
	word, _, _ := strings.Cut(r.peer, "'")
	return word
}

// findDemoRuntime returns the runtime of a name.
func findDemoRuntime(name string) (demoRuntime, error) {
	for _, r := range demoRuntimes {
		if r.name == name {
			return r, nil
		}
	}
	return demoRuntime{}, usagef("--runtime %s: want one of %s", name, strings.Join(demoRuntimeNames(), ", "))
}

// openDemoDevice returns the device that --device names, the first one if it names
// none, of the runtime that --runtime names; if it names none, of the first one that
// has a device.
func openDemoDevice(runtime, choice string) (demoRuntime, demoDevice, error) {
	if !hasRuntimes {
		return demoRuntime{}, nil, errNoRuntimes
	}
	candidates := demoRuntimes
	if runtime != "" {
		r, err := findDemoRuntime(runtime)
		if err != nil {
			return r, nil, err
		}
		candidates = []demoRuntime{r}
	}
	var failed error
	for _, r := range candidates {
		devices, err := r.devices()
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		titles := make([]string, len(devices))
		for i, d := range devices {
			titles[i] = d.title()
		}
		i, err := chooseDevice(titles, choice)
		if err != nil {
			return r, nil, err
		}
		return r, devices[i], nil
	}
	if len(candidates) > 1 {
		failed = fmt.Errorf("no runtime has a device:\n%w", failed)
	}
	return demoRuntime{}, nil, failed
}
