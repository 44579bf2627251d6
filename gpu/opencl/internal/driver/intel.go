package driver

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/key"
)

// Intel is Intel's driver for GPUs.
type Intel struct{ Other }

// intelCompared is how the version of those of Intel's drivers begins whose header searches were
// seen, and whose binaries, with and without an unused constant, were compared (decision 080).
const intelCompared = "22.43."

// Identity returns what GPUs of one id and one version differ in.
func (Intel) Identity(d Device) (traits, compiler []key.Pair, err error) {
	if !d.GPU {
		return nil, nil, nil
	}
	id, ok := d.number(cl.DeviceIDIntel)
	if !ok {
		return nil, nil, drivers.ErrStepping
	}
	var address string
	if d.Has("cl_khr_pci_bus_info") {
		// cl_device_pci_bus_info_khr: domain, bus, device, function.
		if b, err := d.Ask.Device(d.Device, cl.DevicePCIBusInfo); err == nil && len(b) == 16 {
			n := func(i int) uint32 { return binary.NativeEndian.Uint32(b[4*i:]) }
			address = fmt.Sprintf("%04x:%02x:%02x.%x", n(0), n(1), n(2), n(3))
		}
	}
	stepping, err := drivers.Stepping(uint32(id), address, d.Env.Loaded)
	if err != nil {
		return nil, nil, err
	}
	return []key.Pair{{Name: "stepping", Value: stepping}}, nil, nil
}

// Steady returns an error where the compiler was called with other switches.
func (Intel) Steady(_ Platform, environ []string) error { return drivers.SteadySwitches(environ) }

// HeaderSearch returns what the system calls of builds show: the front end gives the source a
// name without a directory, puts the working directory behind those of the options, and leaves
// clang's own. The one in the middle is that of a compiler without a place of its own.
func (i Intel) HeaderSearch(d Device, dir string) (deps.Search, error) {
	if !strings.HasPrefix(d.Driver, intelCompared) {
		return i.Other.HeaderSearch(d, dir)
	}
	return deps.Search{
		Main: dir, Last: []string{dir},
		System: []string{"/usr/local/include", filepath.Join(dir, "include"), "/usr/include"},
	}, nil
}

// TellsNoOptions reports false (seen with 22.43).
func (Intel) TellsNoOptions() bool { return false }

// Repeats implements Driver. The compiler's switches may have it look at what is not used.
func (i Intel) Repeats(d Device, obeyed []key.Pair) error {
	if !strings.HasPrefix(d.Driver, intelCompared) {
		return errRepeats
	}
	for _, v := range obeyed {
		if strings.HasPrefix(v.Name, "IGC_") {
			return fmt.Errorf("the variable %s is set", v.Name)
		}
	}
	return nil
}

// FromOwnCache reports whether a binary that a build of a recipe gave is what Intel's driver
// kept in a cache of its own. That cache looks for "#include" in a source, finds neither
// "#  include" nor "%:include", and answers with what another header made. Its answers lack the
// intermediate code that a compiler's have beside the device's (22.43), which a program is
// linked with. Of binaries of other forms it reports false.
func FromOwnCache(r *key.Recipe, b []byte) bool {
	if units := r.Image.Units(); len(units) != 1 || units[0].Kind != key.OpenCLC || r.Image.IsSequence() {
		return false // linked programs have none
	}
	device, intermediate := sections(b)
	return device && !intermediate
}

// Types of sections of Intel's binaries.
const (
	sectionLLVM   = 0xff000003
	sectionDevice = 0xff000005
	sectionSPIRV  = 0xff000009
)

// sections reports whether an ELF file of 64 bits has sections of code for the device, and of
// intermediate code.
func sections(b []byte) (device, intermediate bool) {
	const header, entry = 64, 64
	if len(b) < header || string(b[:6]) != "\x7fELF\x02\x01" {
		return false, false
	}
	at, count := binary.LittleEndian.Uint64(b[40:]), binary.LittleEndian.Uint16(b[60:])
	for ; count > 0 && at <= uint64(len(b)) && uint64(len(b))-at >= entry; count-- {
		switch binary.LittleEndian.Uint32(b[at+4:]) {
		case sectionDevice:
			device = true
		case sectionLLVM, sectionSPIRV:
			intermediate = true
		}
		at += entry
	}
	return device, intermediate
}
