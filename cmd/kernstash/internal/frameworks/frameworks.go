// Package frameworks knows the caches that frameworks have of their own and leave off: which
// variables switch them on, below the root of ours, and how what they keep there is counted,
// evicted and removed. docs/FRAMEWORKS.md is its table, with the sources.
package frameworks

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/internal/settings"
)

// Framework is one that has a cache of its own.
type Framework struct {
	Name string // as the setting frameworks has it
	dir  string // the variable that names its directory
	set  []Variable
	undo Variable // switches the cache off

	// users are the variables by which a user decides about the cache; a * at the end stands for
	// any. If one is set the framework is left alone.
	users []string

	byDefault bool     // the default switches it on
	why       string   // it does not
	devices   []string // one of these is there where it compiles for a GPU; of none there is no question
	alone     string   // why the default leaves it alone in a job of several processes

	unit func(path string) string // names the item that a file is a part of
}

// Variable is one of the environment.
type Variable struct{ Name, Value string }

var all = []Framework{
	{
		Name: "jax", dir: "JAX_COMPILATION_CACHE_DIR",
		set: []Variable{
			{"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0"},
			{"JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1"},
			{"JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES", "none"}, // XLA fails a build where it cannot write them
		},
		users: []string{
			"JAX_COMPILATION_CACHE_*", "JAX_PERSISTENT_CACHE_*", "JAX_ENABLE_COMPILATION_CACHE", "JAX_RAISE_PERSISTENT_CACHE_ERRORS",
		},
		undo:      Variable{"JAX_ENABLE_COMPILATION_CACHE", "0"},
		byDefault: true,
		devices:   []string{"/dev/nvidiactl", "/dev/kfd", "/dev/dxg"},
		alone:     "XLA may wait for ever where only some processes find a program",
		unit:      jaxUnit,
	},
	{
		Name: "dpcpp", dir: "SYCL_CACHE_DIR", set: []Variable{{"SYCL_CACHE_PERSISTENT", "1"}},
		undo:  Variable{"SYCL_CACHE_PERSISTENT", "0"},
		users: []string{"SYCL_CACHE_*"},
		why:   "not by default: applications were seen to crash with it",
		unit:  dpcppUnit,
	},
	{
		Name: "comgr", dir: "AMD_COMGR_CACHE_DIR", set: []Variable{{"AMD_COMGR_CACHE", "1"}},
		undo:  Variable{"AMD_COMGR_CACHE", "0"},
		users: []string{"AMD_COMGR_CACHE", "AMD_COMGR_CACHE_*"},
		why:   "not by default: later versions switch it on themselves, in a directory of their own",
		unit:  func(path string) string { return path },
	},
}

// jaxUnit: JAX keeps an executable in <key>-cache, and with a limit of its own when it was used in <key>-atime.
func jaxUnit(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(path, "-cache"), "-atime")
}

// dpcppUnit: DPC++ keeps an item in <n>.bin and <n>.src, with locks and a time of access beside them.
func dpcppUnit(path string) string {
	dir, name := filepath.Split(path)
	return dir + name[:len(name)-len(strings.TrimLeft(name, "0123456789"))]
}

// Decision is what becomes of a framework's cache in a command.
type Decision struct {
	Name   string `json:"name"`
	On     bool   `json:"on"`
	Dir    string `json:"dir,omitempty"`    // where it is, if it is on
	Reason string `json:"reason,omitempty"` // why it is not

	Variables []Variable `json:"-"` // that switch it on; or off, where what is around has switched it on
	Expected  bool       `json:"-"` // it is off as it is in most places
}

// Input is what decides.
type Input struct {
	Root    string   // of the cache
	Choice  string   // the setting frameworks
	Environ []string // of the command
	Exists  func(path string) bool
}

// Decide says for each framework whether its cache is to be switched on. It changes nothing.
func Decide(in Input) []Decision {
	decisions := make([]Decision, len(all))
	for i, f := range all {
		d := &decisions[i]
		d.Name = f.Name
		if d.Reason, d.Expected = f.off(in); d.Reason == "" {
			d.On, d.Dir, d.Variables = true, Dir(in.Root, f.Name), f.variables(in.Root)
		} else {
			*d = f.leave(in, d.Reason, d.Expected)
		}
	}
	return decisions
}

// leave returns the decision to leave a framework alone. Where a run or a session around has switched
// its cache on, and the user has not decided, that is taken back.
func (f *Framework) leave(in Input, reason string, expected bool) Decision {
	d := Decision{Name: f.Name, Reason: reason, Expected: expected}
	if slices.Contains(in.Environ, f.dir+"="+Dir(in.Root, f.Name)) && f.user(in) == "" {
		d.Variables = []Variable{f.undo}
	}
	return d
}

// Leave returns a decision to leave a framework alone, for a reason that Decide does not know.
func (d Decision) Leave(in Input, reason string) Decision {
	i := slices.IndexFunc(all, func(f Framework) bool { return f.Name == d.Name })
	return all[i].leave(in, reason, false)
}

// Dir returns the directory of a framework's cache below a root.
func Dir(root, name string) string { return filepath.Join(root, ".meta", "frameworks", name) }

// Switches returns what switches a framework's cache on, but for the variable that names its directory.
func Switches(name string) []Variable {
	i := slices.IndexFunc(all, func(f Framework) bool { return f.Name == name })
	return slices.Clone(all[i].set)
}

func (f *Framework) variables(root string) []Variable {
	return append([]Variable{{f.dir, Dir(root, f.Name)}}, f.set...)
}

// off says why the framework's cache is not switched on, "" if it is, and whether that is to be expected.
func (f *Framework) off(in Input) (reason string, expected bool) {
	words := strings.Split(in.Choice, ",")
	named := in.Choice == settings.FrameworksAll || slices.Contains(words, f.Name)
	switch {
	case named:
	case !slices.Contains(words, settings.FrameworksDefault):
		return "the setting frameworks is " + in.Choice, true
	case !f.byDefault:
		return f.why, true
	case !slices.ContainsFunc(f.devices, in.Exists):
		return "there is no GPU that it compiles for", true
	}
	if hides := withoutGPU(in.Environ); hides != "" && !named {
		return "it compiles for no GPU: " + hides, true
	}
	if name := f.user(in); name != "" {
		return name + " is set", false
	}
	if job := ofSeveral(in.Environ); job != "" && !named {
		return fmt.Sprintf("a job of several processes (%s): %s; name it in the setting frameworks where all of them see one directory", job, f.alone), false
	}
	return "", false
}

// user returns a variable by which the user has decided, "" for none. What a run around this one has
// set is none of the user's.
func (f *Framework) user(in Input) string {
	ours := f.variables(in.Root)
	for _, kv := range in.Environ {
		name, value, _ := strings.Cut(kv, "=")
		of := func(pattern string) bool {
			prefix, open := strings.CutSuffix(pattern, "*")
			return name == pattern || open && strings.HasPrefix(name, prefix)
		}
		if slices.ContainsFunc(f.users, of) && !slices.Contains(ours, Variable{name, value}) {
			return name
		}
	}
	return ""
}

// withoutGPU returns what says that the environment is that of a program which is to use no GPU, "" if
// nothing does.
func withoutGPU(environ []string) string {
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		others := func(platform string) bool { return platform != "cpu" && platform != "tpu" }
		switch {
		case strings.HasSuffix(name, "_VISIBLE_DEVICES") && (value == "" || value[0] == '-'),
			strings.HasPrefix(name, "JAX_PLATFORM") && value != "" && !slices.ContainsFunc(strings.Split(value, ","), others):
			return kv
		}
	}
	return ""
}

// ofSeveral returns what says that the environment is that of a job of several processes, "" if
// nothing does.
func ofSeveral(environ []string) string {
	for _, kv := range environ {
		switch name, value, _ := strings.Cut(kv, "="); name {
		case "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "WORLD_SIZE", "JAX_NUM_PROCESSES":
			if value != "" && value != "1" {
				return kv
			}
		case "JAX_COORDINATOR_ADDRESS", "JOB_COMPLETION_INDEX":
			return name
		}
	}
	return ""
}
