package launch

import (
	"fmt"
	"strings"
)

// DoorVariable tells the layer which of the two doors is ours.
const DoorVariable = "KERNSTASH_OPENCL_DOOR"

// Variables returns what brings the layer into programs by a door, beside what
// an environment has already.
func Variables(env []string, layer, door string) ([]Variable, error) {
	e := environ(env)
	all := []Variable{{DoorVariable, door}}
	if door == DoorPreload {
		if strings.ContainsAny(layer, " :") {
			return nil, fmt.Errorf("%s: LD_PRELOAD takes no path with a space or a colon", layer)
		}
		// Behind others: a sanitizer's runtime must come first.
		return append(all, Variable{"LD_PRELOAD", last(e.get("LD_PRELOAD"), layer, ": ")}), nil
	}
	if strings.ContainsRune(layer, ':') {
		return nil, fmt.Errorf("%s: OPENCL_LAYERS takes no path with a colon", layer)
	}
	// In front, which is next to the driver: the cache sees the programs that
	// other layers have made of the application's. Also, ocl-icd writes into the
	// variable, so that children of a program inherit the first layer alone.
	return append(all, Variable{"OPENCL_LAYERS", first(e.get("OPENCL_LAYERS"), layer, ":")}), nil
}
