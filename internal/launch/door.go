package launch

// The ways into OpenCL programs, of which the first to come to a process serves it.
const (
	DoorAuto    = "auto"    // both
	DoorLayer   = "layer"   // OPENCL_LAYERS: the loader brings us in
	DoorPreload = "preload" // LD_PRELOAD: the dynamic linker does
)

// CheckDoor refuses what is none of them.
func CheckDoor(door string) error {
	switch door {
	case DoorAuto, DoorLayer, DoorPreload:
		return nil
	}
	return usagef("--door %s: want %s, %s or %s", door, DoorAuto, DoorLayer, DoorPreload)
}
