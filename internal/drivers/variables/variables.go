// Package variables lists environment variables of drivers and loaders, for those that
// start processes in which device code is compiled.
package variables

import (
	"slices"
	"strings"
)

// layers begin the names of variables by which the loader of a runtime loads layers.
var layers = []string{"OPENCL_LAYER"}

// decisive are beginnings of variables that decide which loader, driver and device a program
// gets; what a compiler obeys is in the recipe. Ours are not among them, nor are those that
// load layers and libraries: a worker has none of its own.
var decisive = []string{
	"OCL_ICD_", "OPENCL_", "LD_LIBRARY_PATH=",
	"POCL_DEVICES=", "CUDA_VISIBLE_DEVICES=", "CUDA_DEVICE_ORDER=", "NVIDIA_VISIBLE_DEVICES=",
	"ROCR_VISIBLE_DEVICES=", "HIP_VISIBLE_DEVICES=", "GPU_DEVICE_ORDINAL=",
	"ZE_AFFINITY_MASK=", "ZE_FLAT_DEVICE_HIERARCHY=", "ONEAPI_DEVICE_SELECTOR=",
	"RUSTICL_", "LP_", "LIBGL_ALWAYS_SOFTWARE=", "CL_CONFIG_",
}

// Decides reports whether a variable, as NAME=value, decides which loader, driver and device
// a program gets.
func Decides(variable string) bool { return Begins(variable, decisive) && !Begins(variable, layers) }

// Loads reports whether a variable, as NAME=value, makes a program load a library or a layer.
func Loads(variable string) bool {
	return Begins(variable, layers) || Begins(variable, []string{"LD_PRELOAD=", "LD_AUDIT="})
}

// KeepIn returns the variables that have drivers keep what they compile in a directory, or nowhere.
func KeepIn(dir string) []string {
	return []string{
		"POCL_CACHE_DIR=" + dir, "XDG_CACHE_HOME=" + dir,
		"NEO_CACHE_PERSISTENT=0", "CUDA_CACHE_DISABLE=1", "MESA_SHADER_CACHE_DISABLE=true",
	}
}

// Begins reports whether a variable, as NAME=value, begins as one of some texts does.
func Begins(variable string, with []string) bool {
	return slices.ContainsFunc(with, func(w string) bool { return strings.HasPrefix(variable, w) })
}
