package opencl

import (
	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/deps"
)

// HeaderSearch is Device.HeaderSearch of one of the context's devices.
func (r *Runtime) HeaderSearch(device int, dir string, _ kernstash.Request) (deps.Search, error) {
	return r.context.devices[device].HeaderSearch(dir)
}

// HeaderSearch returns where the device's compiler looks for header files besides
// the directories of -I, while dir is the working directory. It is known for the
// drivers that it was found out of; the error says that this is another.
func (d *Device) HeaderSearch(dir string) (deps.Search, error) {
	return d.platform.driver().HeaderSearch(d.asked(), dir)
}
