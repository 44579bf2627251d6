package opencl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/internal/elfid"
	"github.com/kernstash/kernstash/key"
)

// Identify returns what decides how the device compiles: the four strings by
// which OpenCL names it, what devices of one name differ in, and the libraries
// that compile. Equal parts of a device, and equal devices of one machine or
// of two, have equal identities: no ordinal, no bus address, no number of
// compute units is in it.
//
// The error says that the libraries cannot be told; programs of the device are
// then not to be cached.
func (d *Device) Identify() (key.Device, error) {
	compiler, err := d.platform.compiler()
	if err != nil {
		return key.Device{}, fmt.Errorf("identify %s: %w", d.Name, err)
	}
	traits := d.traits()
	if d.platform.vendor() == intel && d.Type&GPU != 0 {
		stepping, err := d.stepping()
		if err != nil {
			return key.Device{}, fmt.Errorf("identify %s: %w", d.Name, err)
		}
		traits = append(traits, key.Pair{Name: "stepping", Value: stepping})
	}
	if d.platform.vendor() == pocl {
		more, err := ofPoCL.compilesWith(d.platform)
		if err != nil {
			return key.Device{}, fmt.Errorf("identify %s: %w", d.Name, err)
		}
		compiler = append(slices.Clone(compiler), more...)
	}
	return key.Device{
		API: "opencl", Platform: d.platform.Name, Name: d.Name, Version: d.Version, Driver: d.Driver,
		Traits: traits, Compiler: compiler,
	}, nil
}

// traits are what two devices of one name can differ in. A parameter of an
// extension is asked for where the device has the extension.
func (d *Device) traits() []key.Pair {
	var t []key.Pair
	add := func(name, value string) {
		if value != "" {
			t = append(t, key.Pair{Name: name, Value: value})
		}
	}
	hex := func(param uint32) string {
		if n, ok := number(d.platform.ask.Device(d.id(), param)); ok {
			return "0x" + strconv.FormatUint(n, 16)
		}
		return ""
	}
	add("vendor id", hex(cl.DeviceVendorID))
	add("type", d.Type.String())
	add("address bits", strconv.Itoa(d.Limits.AddressBits))
	add("OpenCL C", d.CVersion)
	if d.Has("cl_intel_device_attribute_query") {
		add("device id", hex(cl.DeviceIDIntel))
		add("IP version", hex(cl.DeviceIPVersionIntel))
	}
	if d.Has("cl_nv_device_attribute_query") {
		major, ok1 := number(d.platform.ask.Device(d.id(), cl.DeviceComputeCapabilityMajorNV))
		minor, ok2 := number(d.platform.ask.Device(d.id(), cl.DeviceComputeCapabilityMinorNV))
		if ok1 && ok2 {
			add("compute capability", fmt.Sprintf("%d.%d", major, minor))
		}
	}
	if d.Has("cl_amd_device_attribute_query") {
		// The device name is the gfx target there; the board's says which.
		add("board", text(d.platform.ask.Device(d.id(), cl.DeviceBoardNameAMD)))
	}
	if d.Type&CPU != 0 {
		// LLVM asks the processor itself what it can, beyond its name.
		model, flags := processor()
		add("processor", model)
		add("processor flags", flags)
	}
	return t
}

// stepping returns what Intel's devices of one id and one version differ in. It is an error,
// too, if the driver compiles for a debugger.
func (d *Device) stepping() (string, error) {
	id, ok := number(d.platform.ask.Device(d.id(), cl.DeviceIDIntel))
	if !ok {
		return "", drivers.ErrStepping
	}
	if err := drivers.NotDebugged(); err != nil {
		return "", err
	}
	var address string
	if d.Has("cl_khr_pci_bus_info") {
		// cl_device_pci_bus_info_khr: domain, bus, device, function.
		if b, err := d.platform.ask.Device(d.id(), cl.DevicePCIBusInfo); err == nil && len(b) == 16 {
			n := func(i int) uint32 { return binary.NativeEndian.Uint32(b[4*i:]) }
			address = fmt.Sprintf("%04x:%02x:%02x.%x", n(0), n(1), n(2), n(3))
		}
	}
	return drivers.Stepping(uint32(id), address, d.platform.env.loaded)
}

// errLibraries is wrapped when the driver's own library cannot be found in this
// process's memory.
var errLibraries = errors.New("the driver's library is not known")

// known holds cl.PlatformID → []key.Pair. What is loaded runs until the process
// ends, whatever becomes of its file.
var known sync.Map

// compiler names the libraries that compile for the platform, with their
// build ids: the driver, what it opens by name, and the compilers that those
// are linked with. Finding out takes some 0.5 ms on PoCL, half of it the
// kernel's writing /proc/self/maps, where the dynamic linker cannot be asked; it is done
// once.
func (p *Platform) compiler() ([]key.Pair, error) {
	if pairs, ok := known.Load(p.id); ok {
		return pairs.([]key.Pair), nil
	}
	pairs, err := p.findCompiler()
	if err != nil {
		return nil, err
	}
	first, _ := known.LoadOrStore(p.id, pairs) // one answer in a process
	return first.([]key.Pair), nil
}

func (p *Platform) findCompiler() ([]key.Pair, error) {
	if pairs, ok := drivers.InMemory(uintptr(p.id)); ok {
		return pairs, nil
	}
	m := elfid.Loaded()
	driver := p.driver(m)
	if driver == "" {
		return nil, errLibraries
	}
	return drivers.Compilers(m, driver)
}

// driver returns the path of the platform's own library. Every object of an
// ICD driver starts with the address of its dispatch table, the first entry of
// which is its clGetPlatformIDs (cl_khr_icd, "ICD Compatible Vendor
// Implementations"): the file that is mapped there is the driver.
func (p *Platform) driver(m elfid.Mappings) string {
	addr := uintptr(p.id)
	for range 2 {
		if _, ok := m.Find(addr); !ok || addr%8 != 0 {
			return ""
		}
		addr = dl.Word(addr)
	}
	at, _ := m.Find(addr)
	return at.Path
}
