package opencl

import (
	"encoding/binary"

	"github.com/kernstash/kernstash/key"
)

// FromDriversCache reports whether a binary that a build of a recipe gave is what Intel's driver
// kept in a cache of its own. That cache looks for "#include" in a source, finds neither
// "#  include" nor "%:include", and answers with what another header made. Its answers lack the
// intermediate code that a compiler's have beside the device's (22.43), which a program is
// linked with. Of binaries of other forms it reports false.
func FromDriversCache(r *key.Recipe, b []byte) bool {
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
