package worker

import (
	"slices"
	"strings"

	"github.com/kernstash/kernstash/spool"
)

// harmless are the variables that a builder has of its worker: no compiler makes
// other code for them.
var harmless = []string{
	"HOME=", "USER=", "LOGNAME=", "PATH=", "SHELL=", "LANG=", "LC_", "TZ=", "XDG_RUNTIME_DIR=", "SYSTEMROOT=",
}

// never are variables that no builder has, whatever a job says: those that make a
// program load a library or a layer, ours first. A builder that asked its own cache
// would wait for itself.
var never = []string{
	"KERNSTASH_", "LD_PRELOAD=", "LD_AUDIT=", "LD_DEBUG", "LD_PROFILE", "OPENCL_LAYER",
}

// builderEnviron returns the environment in which a job is built: what is harmless
// of environ, the job's own, and directories of its own below dir for what drivers
// keep: nothing of it is left in the user's.
func builderEnviron(environ []string, e spool.Environment, dir string) []string {
	ours := []string{
		"POCL_CACHE_DIR=" + dir + "/" + cacheDir, "XDG_CACHE_HOME=" + dir + "/" + cacheDir, "TMPDIR=" + dir + "/" + tmpDir,
		"NEO_CACHE_PERSISTENT=0", "CUDA_CACHE_DISABLE=1", "MESA_SHADER_CACHE_DISABLE=true",
	}
	var out []string
	for _, v := range environ {
		if starts(v, harmless) {
			out = append(out, v)
		}
	}
	for _, v := range e.Variables {
		text := v.Name + "=" + v.Value
		if starts(text, never) || sets(ours, v.Name) {
			continue
		}
		out = slices.DeleteFunc(out, func(o string) bool { return strings.HasPrefix(o, v.Name+"=") })
		out = append(out, text)
	}
	return append(out, ours...)
}

// Environ returns the environment for a worker's own process, of that of whoever
// starts it: without layers and preloads, with the root that it is for, and with
// settings as variables.
func Environ(environ []string, root string, settings []string) []string {
	settings = append(settings[:len(settings):len(settings)], "KERNSTASH_DIR="+root)
	var out []string
	for _, v := range environ {
		if starts(v, []string{"LD_PRELOAD=", "LD_AUDIT=", "OPENCL_LAYER"}) || starts(v, names(settings)) {
			continue
		}
		out = append(out, v)
	}
	return append(out, settings...)
}

func starts(v string, with []string) bool {
	return slices.ContainsFunc(with, func(w string) bool { return strings.HasPrefix(v, w) })
}

func sets(environ []string, name string) bool { return starts(name+"=", names(environ)) }

func names(environ []string) (all []string) {
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		all = append(all, name+"=")
	}
	return all
}
