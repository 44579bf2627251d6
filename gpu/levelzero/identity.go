package levelzero

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/internal/elfid"
	"github.com/kernstash/kernstash/key"
)

// Identify returns what decides how the device compiles: its name, the versions of the driver and of the
// API, what devices of one name differ in, and the libraries that compile. Equal devices, and equal parts
// of one, have equal identities: no ordinal, no bus address is in it.
//
// The error says that the libraries cannot be told; programs of the device are then not to be cached.
func (d *Device) Identify() (key.Device, error) {
	compiler, err := d.compiler()
	if err != nil {
		return key.Device{}, fmt.Errorf("identify %s: %w", d.Name, err)
	}
	stepping, err := d.stepping()
	if err != nil {
		return key.Device{}, fmt.Errorf("identify %s: %w", d.Name, err)
	}
	return key.Device{
		API: "levelzero", Platform: "Level Zero", Name: d.Name, Version: d.driver.APIVersion, Driver: d.driver.Version,
		Traits: append(d.traits(), key.Pair{Name: "stepping", Value: stepping}), Compiler: compiler,
	}, nil
}

// The extensions that tell of a device's hardware.
const (
	extensionIPVersion = "ZE_extension_device_ip_version"
	extensionPCI       = "ZE_extension_pci_properties"
)

// subDevice is ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE.
const subDevice = 1 << 1

// traits are what two devices of one name can differ in.
func (d *Device) traits() []key.Pair {
	var t []key.Pair
	add := func(name, format string, args ...any) {
		t = append(t, key.Pair{Name: name, Value: fmt.Sprintf(format, args...)})
	}
	p := d.properties
	add("vendor id", "%#x", p.VendorID)
	add("device id", "%#x", p.DeviceID)
	add("type", "%v", d.Type)
	add("SPIR-V", "%s", d.SPIRV)
	// The driver tells the compiler how large the hardware is.
	add("execution units", "%d×%d×%d, %d threads", p.Slices, p.SubslicesPerSlice, p.EUsPerSubslice, p.ThreadsPerEU)
	if p.Flags&subDevice != 0 {
		add("part", "1")
	}
	if d.driver.Has(extensionIPVersion) {
		if v, err := d.driver.ask.ipVersion(d.id); err == nil {
			add("IP version", "%#x", v)
		}
	}
	return t
}

// stepping returns what devices of one id and one version differ in.
func (d *Device) stepping() (string, error) {
	var address string
	if d.driver.Has(extensionPCI) {
		e := d.driver.ask.entry("zeDevicePciGetPropertiesExt")
		if p, err := properties[pciProperties](e, stypePCIExtProperties, d.id); err == nil {
			address = fmt.Sprintf("%04x:%02x:%02x.%x", p.Domain, p.Bus, p.Device, p.Function)
		}
	}
	return drivers.Stepping(d.properties.DeviceID, address, d.driver.env.Loaded)
}

// errLibraries is wrapped when no driver's library can be found in this process's memory.
var errLibraries = errors.New("the driver's library is not known")

// compiler names the libraries that compile, with their build ids: all drivers that the process has
// loaded, since it cannot always be told which of them serves a device, and their compilers. All are
// loaded before there is a device.
func (d *Device) compiler() ([]key.Pair, error) {
	var pairs []key.Pair
	var err error
	// Others may be opening and closing libraries while the list of them is read.
	for _, pause := range []time.Duration{0, time.Millisecond, 20 * time.Millisecond} {
		time.Sleep(pause)
		if pairs, err = d.libraries(); err == nil {
			break
		}
	}
	return pairs, err
}

func (d *Device) libraries() ([]key.Pair, error) {
	m := elfid.Loaded()
	paths := m.Named(isDriver)
	if own := d.library(m); own != "" && !slices.Contains(paths, own) {
		paths = append(paths, own) // one of another name: ZE_ENABLE_ALT_DRIVERS
	}
	if len(paths) == 0 {
		return nil, errLibraries
	}
	return drivers.Compilers(m, paths...)
}

// library returns the path of the device's driver. A device is an object that starts with the address of a
// table in the driver's file, or, with several drivers, one of the loader's that starts with its address.
func (d *Device) library(m elfid.Mappings) string {
	addr := d.id
	for range 3 {
		at, ok := m.Find(addr)
		if !ok || addr%8 != 0 {
			return ""
		}
		if at.Path != "" {
			return at.Path
		}
		addr = dl.Word(addr)
	}
	return ""
}

// isDriver reports whether a file's name is that of a driver: libze_intel_gpu.so.1.3.24595,
// libze_intel_vpu.so.1. The loader and its layers are named so, too.
func isDriver(name string) bool {
	begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	others := []string{"libze_loader", "libze_tracing_layer", "libze_validation_layer", "libze_null"}
	return begins("libze_") && !slices.ContainsFunc(others, begins)
}

// environAtLoad returns the environment of the first call, which is made before the loader loads the
// drivers, or, where the application did so itself, before this package first looks at one.
var environAtLoad = sync.OnceValue(os.Environ)

// seen is what was seen of what the driver obeys.
var seen drivers.Seen

// Variables returns the environment variables that the device's compiler obeys in
// this process, sorted by name.
func (d *Device) Variables() []key.Pair { return variables.Of(d.driver.env.Now()) }

// SteadyVariables is Variables, with an error if they are not, or once were not, those
// that the process had when the driver was loaded. Drivers read some variables once
// and others at each build, so which values hold is not known then. It is an error, too,
// if the driver obeys a file of settings.
func (d *Device) SteadyVariables() ([]key.Pair, error) {
	environ := d.driver.env.Now()
	steady := drivers.SteadySwitches(environ)
	now, err := seen.Steady(&variables, environ, d.driver.variablesAtLoad())
	return now, cmp.Or(err, steady)
}
