package driver

import (
	"strconv"

	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
	"github.com/kernstash/kernstash/key"
)

// Traits returns what two devices of one name can differ in, as far as the device has
// extensions to ask for it, and the processor where that is the device.
func (d Device) Traits() []key.Pair {
	var t []key.Pair
	add := func(name, value string) {
		if value != "" {
			t = append(t, key.Pair{Name: name, Value: value})
		}
	}
	hex := func(param uint32) string {
		if n, ok := d.number(param); ok {
			return "0x" + strconv.FormatUint(n, 16)
		}
		return ""
	}
	add("vendor id", hex(cl.DeviceVendorID))
	add("type", d.Type)
	add("address bits", strconv.Itoa(d.AddressBits))
	add("OpenCL C", d.CVersion)
	if d.Has("cl_intel_device_attribute_query") {
		add("device id", hex(cl.DeviceIDIntel))
		add("IP version", hex(cl.DeviceIPVersionIntel))
	}
	add("compute capability", d.capability())
	if d.Has("cl_amd_device_attribute_query") {
		// The device name is the gfx target there; the board's says which.
		add("board", cl.Text(d.Ask.Device(d.Device, cl.DeviceBoardNameAMD)))
	}
	if d.CPU {
		// LLVM asks the processor itself what it can, beyond its name.
		model, flags := processor()
		add("processor", model)
		add("processor flags", flags)
	}
	return t
}
