package launch

import (
	"fmt"
	"strings"
)

// DoorVariable tells the layer which of the ways in are ours.
const DoorVariable = "KERNSTASH_OPENCL_DOOR"

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
			return nil, fmt.Errorf("%s: OPENCL_LAYERS takes no path with a colon", l.Layer)
		}
		// In front, which is next to the driver: the cache sees the programs that
		// other layers have made of the application's. Also, ocl-icd writes into the
		// variable, so that children of a program inherit the first layer alone.
		all = append(all, Variable{"OPENCL_LAYERS", first(e.get("OPENCL_LAYERS"), l.Layer, ":")})
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
