package drivers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ErrStepping says that nobody knows the stepping of an Intel GPU.
var ErrStepping = errors.New("the GPU's stepping is not known")

// Stepping returns the stepping of an Intel GPU, for which its compiler makes different code
// under one name, device id and version: the revision of the PCI device of an id, at an address
// as 0000:03:00.0 where that is known, else of the only one, or of all that there are. It is an
// error, too, if the driver compiles for a debugger.
//
// A driver whose switches say that there is no hardware takes a stepping from a table of its
// own, or from another switch: that is told, since the driver's libraries and switches are in the
// key. environ is what the driver found when it was loaded.
func Stepping(id uint32, address string, environ []string) (string, error) {
	if err := notDebugged(); err != nil {
		return "", err
	}
	return stepping("/sys/bus/pci/devices", id, address, environ)
}

func stepping(root string, id uint32, address string, environ []string) (string, error) {
	if withoutHardware(environ) {
		return "of the driver's switches", nil
	}
	if address != "" {
		if r := revision(filepath.Join(root, address), id); r != "" {
			return r, nil
		}
	}
	all, err := os.ReadDir(root)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrStepping, err)
	}
	var found []string
	for _, d := range all {
		if r := revision(filepath.Join(root, d.Name()), id); r != "" {
			found = append(found, r)
		}
	}
	slices.Sort(found)
	if found = slices.Compact(found); len(found) != 1 {
		return "", fmt.Errorf("%w: %d revisions of device 0x%x", ErrStepping, len(found), id)
	}
	return found[0], nil
}

// revision returns the revision of the PCI device at a directory; "" where that is no device
// of Intel's with the id: a driver may say of a device that is not there that it is in some place.
func revision(dir string, id uint32) string {
	number := func(file string) int64 {
		b, _ := os.ReadFile(filepath.Join(dir, file))
		n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 0, 32)
		if err != nil {
			return -1
		}
		return int64(n)
	}
	r := number("revision")
	if r < 0 || number("vendor") != 0x8086 || number("device") != int64(id) {
		return ""
	}
	return fmt.Sprintf("0x%x", r)
}

// withoutHardware reports whether a driver writes what it would do to a file (1), or gives it
// to a simulator (2, 4), and so takes what its hardware is from a table.
func withoutHardware(environ []string) bool {
	return isOn(environ, Intel.SwitchOn) && slices.ContainsFunc(environ, func(e string) bool {
		value, ok := strings.CutPrefix(e, "SetCommandStreamReceiver=")
		return ok && (value == "1" || value == "2" || value == "4")
	})
}
