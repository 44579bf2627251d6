//go:build linux

package stage

import "path/filepath"

// Driver is an OpenCL driver that tests run on, with the environment that it needs.
type Driver struct {
	Name string
	Env  []string
}

// PoCL and Intel's driver are the machine's.
var (
	PoCL = Driver{"pocl", []string{"OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd", "OBSERVE_POCL=1"}}
	// Without hardware it compiles for a product that is named.
	Intel = Driver{"intel", []string{
		"OCL_ICD_VENDORS=/etc/OpenCL/vendors/intel.icd", "NEOReadDebugKeys=1", "SetCommandStreamReceiver=1",
		"ProductFamilyOverride=tgllp",
	}}
	// Drivers are the real ones.
	Drivers = []Driver{PoCL, Intel}
)

// Fake is the fake driver, behind a shim that comes first.
var Fake = Driver{"fake", []string{"KERNSTASH_INJECT=preload"}}

// environ is Env, with what programs of testdata look for.
func (d Driver) environ() []string {
	if d.Name != Intel.Name {
		return d.Env
	}
	return append([]string{"OBSERVE_SPIRV=" + filepath.Join(root, "gpu", "opencl", "testdata", "scale.spv")}, d.Env...)
}
