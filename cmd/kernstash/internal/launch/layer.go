package launch

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/dl"
)

// OpenCL is the one runtime that has layers. Layer is the file name of ours,
// LayersVariable tells the loader of it, and DoorVariable tells it which of the ways in
// are ours.
const (
	Layer          = "libkernstash_opencl_layer.so"
	LayersVariable = "OPENCL_LAYERS"
	DoorVariable   = "KERNSTASH_OPENCL_DOOR"
)

// The ways into OpenCL programs, of which the first to come to a process serves it.
const (
	DoorAuto    = "auto"    // both
	DoorLayer   = "layer"   // LayersVariable: the loader brings us in
	DoorPreload = "preload" // LD_PRELOAD: the dynamic linker does
)

// CheckDoor refuses what is none of them.
func CheckDoor(door string) error {
	switch door {
	case DoorAuto, DoorLayer, DoorPreload:
		return nil
	}
	return cli.Usagef("--door %s: want %s, %s or %s", door, DoorAuto, DoorLayer, DoorPreload)
}

// Variables returns what brings the libraries into programs, the OpenCL layer by a
// door, beside what an environment has already. With DoorAuto and a path that cannot be
// preloaded the door is DoorLayer.
func Variables(env []string, l Libraries, door string) ([]Variable, error) {
	e := environ(env)
	if door == DoorAuto && !preloadable(l.Layer) {
		door = DoorLayer
	}
	all := []Variable{{DoorVariable, door}}
	var preload []string
	if door != DoorLayer {
		preload = append(preload, l.Layer)
	}
	if door != DoorPreload {
		if strings.ContainsRune(l.Layer, ':') {
			return nil, fmt.Errorf("%s: %s takes no path with a colon", l.Layer, LayersVariable)
		}
		// In front, which is next to the driver: the cache sees the programs that
		// other layers have made of the application's. Also, ocl-icd writes into the
		// variable, so that children of a program inherit the first layer alone.
		all = append(all, Variable{LayersVariable, first(e.get(LayersVariable), l.Layer, ":")})
	}
	if l.Preload != "" {
		preload = append(preload, l.Preload)
	}
	list := e.get("LD_PRELOAD")
	for _, library := range preload {
		if !preloadable(library) {
			return nil, fmt.Errorf("%s: LD_PRELOAD takes no path with a space or a colon", library)
		}
		list = last(list, library, ": ") // behind others: a sanitizer's runtime must come first
	}
	if len(preload) > 0 {
		all = append(all, Variable{"LD_PRELOAD", list})
	}
	return all, nil
}

func preloadable(path string) bool { return !strings.ContainsAny(path, " :") }

// KnowsLayers reports whether an OpenCL loader looks at LayersVariable. CUDA's own does not.
func KnowsLayers(loader string) bool {
	const maxLoader = 16 << 20
	info, err := os.Stat(loader)
	if err != nil || info.Size() > maxLoader {
		return false
	}
	b, err := os.ReadFile(loader)
	return err == nil && bytes.Contains(b, []byte(LayersVariable+"\x00"))
}

// LoaderFile returns the file of the OpenCL loader that programs find here, "" for none.
func LoaderFile() string {
	const soname = "libOpenCL.so.1"
	if _, err := dl.Open(soname); err != nil { // it loads no driver
		return ""
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(maps)) {
		if at := strings.IndexByte(line, '/'); at >= 0 && strings.HasPrefix(filepath.Base(line), "libOpenCL.so") {
			return strings.TrimSpace(line[at:])
		}
	}
	return ""
}
