package worker

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/internal/drivers/variables"
	"github.com/kernstash/kernstash/spool"
)

// harmless are the variables that a builder has of its worker: no compiler makes
// other code for them.
var harmless = []string{
	"HOME=", "USER=", "LOGNAME=", "PATH=", "SHELL=", "LANG=", "LC_", "TZ=", "XDG_RUNTIME_DIR=", "SYSTEMROOT=",
}

// never are variables that no builder has, whatever a job says, besides those that make a
// program load a library or a layer, ours first. A builder that asked its own cache
// would wait for itself.
var never = []string{"KERNSTASH_", "LD_DEBUG", "LD_PROFILE"}

// builderEnviron returns the environment in which a job is built: what is harmless
// of environ, the job's own, and directories of its own below dir for what drivers
// keep: nothing of it is left in the user's.
func builderEnviron(environ []string, e spool.Environment, dir string) []string {
	out := slices.DeleteFunc(slices.Clone(environ), func(v string) bool { return !variables.Begins(v, harmless) })
	var job []string
	for _, v := range e.Variables {
		if text := v.Name + "=" + v.Value; !variables.Begins(text, never) && !variables.Loads(text) {
			job = append(job, text)
		}
	}
	ours := append(variables.KeepIn(filepath.Join(dir, cacheDir)), "TMPDIR="+filepath.Join(dir, tmpDir))
	return replaced(replaced(out, job), ours)
}

// Environ returns the environment for a worker's own process, of that of whoever
// starts it: without layers and preloads, with the root that it is for, and with
// settings as variables.
func Environ(environ []string, root string, settings []string) []string {
	out := slices.DeleteFunc(slices.Clone(environ), variables.Loads)
	return replaced(out, append(slices.Clone(settings), "KERNSTASH_DIR="+root))
}

// replaced returns an environment with variables in place of those of the same names.
func replaced(environ, by []string) []string {
	for _, v := range by {
		name, _, _ := strings.Cut(v, "=")
		environ = slices.DeleteFunc(environ, func(o string) bool { return strings.HasPrefix(o, name+"=") })
	}
	return append(environ, by...)
}
