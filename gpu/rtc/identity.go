package rtc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/elfid"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/key"
)

// errLibraries is wrapped where the files that compile cannot be told.
var errLibraries = errors.New("the libraries that compile are not known")

// identify finds the libraries that take part in a compile, of those that are loaded.
func (l *Library) identify() (key.Device, error) {
	if l.path == "" {
		return key.Device{}, fmt.Errorf("identify %s: %w", l.d.platform, errLibraries)
	}
	unknown, err := l.unknownFunctions()
	if err != nil {
		return key.Device{}, fmt.Errorf("identify %s: %w: %w", l.d.platform, errLibraries, err)
	}
	if len(unknown) > 0 {
		return key.Device{}, fmt.Errorf("identify %s: %w: it has functions that are not known: %s", l.d.platform, errLibraries, strings.Join(unknown, ", "))
	}
	paths := []string{l.path}
	late, loaded, err := l.opensLate(elfid.Loaded())
	if err != nil {
		return key.Device{}, fmt.Errorf("identify %s: %w", l.d.platform, err)
	}
	if at, _ := loaded.Find(uintptr(l.fn("CompileProgram"))); at.Path != l.path {
		return key.Device{}, fmt.Errorf("identify %s: %w: %s was replaced", l.d.platform, errLibraries, l.path)
	}
	paths = append(paths, late...)
	libraries, err := loaded.Closure(paths, compilers)
	if err != nil {
		return key.Device{}, fmt.Errorf("identify %s: %w", l.d.platform, err)
	}
	d := key.Device{
		API: l.d.name, Platform: l.d.platform, Name: l.d.platform,
		Version: fmt.Sprintf("%d.%d", l.major, l.minor),
	}
	for _, lib := range libraries {
		d.Compiler = append(d.Compiler, key.Pair{Name: lib.Soname, Value: lib.ID})
	}
	switch { // what was kept before may have been made after --restrict: see lasting.go
	case l.hasOwnCache(nil):
		d.Compiler = append(d.Compiler, key.Pair{Name: "kept since", Value: "NVRTC's own cache is not used"})
	case l.api == NVRTC && l.major >= 12:
		d.Compiler = append(d.Compiler, key.Pair{Name: "kept since", Value: "--restrict is known to last"})
	}
	return d, nil
}

// noOwnCache switches off the cache that NVRTC has from 12.9 on, in ~/.nv/ComputeCache. That hands out what another process
// made after --restrict as if it had been made without (seen with 13.0).
const noOwnCache = "--no-cache"

// hasOwnCache reports whether the library may answer a compile with these options from a cache of its own.
func (l *Library) hasOwnCache(options []string) bool {
	return l.api == NVRTC && (l.major > 12 || l.major == 12 && l.minor >= 9) &&
		!slices.ContainsFunc(options, func(o string) bool { return strings.TrimLeft(o, "-") == strings.TrimLeft(noOwnCache, "-") })
}

// compilers accepts the sonames of libraries that decide what is made.
func compilers(soname string) bool {
	known := []string{"libnvrtc", "libnvJitLink", "libnvvm", "libcuda.", "libamd_comgr", "libLLVM", "libclang", "libhiprtc", "libnvptxcompiler", "liblld"}
	return slices.ContainsFunc(known, func(prefix string) bool { return strings.HasPrefix(soname, prefix) })
}

// opensLate returns the library that l opens by name at its first compile: where
// it is loaded already, that; else where the dynamic linker will look. It may be loaded
// for that, so what is loaded is returned, too.
func (l *Library) opensLate(m elfid.Mappings) ([]string, elfid.Mappings, error) {
	sonames := l.late()
	switch l.api {
	case LibNVVM:
		return nil, m, nil
	case NVJitLink: // when a program is created it asks the driver for something, where there is one
		if _, err := dl.Open("libcuda.so", "libcuda.so.1"); err == nil {
			m = elfid.Loaded()
		}
		return m.Named(func(base string) bool { return strings.HasPrefix(base, "libcuda.so") }), m, nil
	}
	own := filepath.Dir(l.path)
	for _, soname := range sonames {
		found := named(m, soname)
		if len(found) == 1 {
			return found, m, nil
		}
		for _, path := range found {
			if filepath.Dir(path) == own {
				return []string{path}, m, nil
			}
		}
		if len(found) > 1 {
			return nil, m, fmt.Errorf("%w: %s is loaded from %s", errLibraries, soname, strings.Join(found, " and "))
		}
	}
	for _, soname := range sonames {
		if path := filepath.Join(own, soname); isFile(path) {
			return []string{path}, m, onSearchPath(path)
		}
		// Nothing else opens it but l, which will get the same.
		if _, err := dl.Open(soname); err == nil {
			m = elfid.Loaded()
			return named(m, soname), m, nil
		}
	}
	return nil, m, fmt.Errorf("%w: there is no %s", errLibraries, strings.Join(sonames, ", "))
}

// onSearchPath reports whether the dynamic linker may find another library of a file's name in
// LD_LIBRARY_PATH, as it was when the process was started: it looks there first, unless
// whoever opens it says otherwise.
func onSearchPath(path string) error {
	for _, v := range inprocess.StartEnvironment() {
		list, ok := strings.CutPrefix(v, "LD_LIBRARY_PATH=")
		if !ok {
			continue
		}
		for _, dir := range strings.FieldsFunc(list, func(c rune) bool { return c == ':' || c == ';' }) {
			other := filepath.Join(dir, filepath.Base(path))
			if !isFile(other) {
				continue
			}
			ours, err := elfid.Inspect(path)
			if err != nil {
				return err
			}
			if theirs, err := elfid.Inspect(other); err != nil || theirs.ID != ours.ID {
				return fmt.Errorf("%w: %s and %s differ", errLibraries, path, other)
			}
			return nil
		}
	}
	return nil
}

// late returns the sonames of the libraries, one of which l opens by name to compile; none for those that
// open none.
func (l *Library) late() []string {
	switch l.api {
	case NVRTC:
		return []string{fmt.Sprintf("libnvrtc-builtins.so.%d.%d", l.major, l.minor)}
	case HIPRTC:
		return []string{"libamd_comgr.so.3", "libamd_comgr.so.2"}
	}
	return nil
}

// named returns the loaded files of a soname.
func named(m elfid.Mappings, soname string) []string {
	return m.Named(func(base string) bool { return base == soname || strings.HasPrefix(base, soname+".") })
}

// Confirm says, after a compile, whether the library opened for it what its identity
// has in it. An error: it did not, and what was made is not to be stored.
func (l *Library) Confirm() error {
	id, err := l.Identify()
	if err != nil {
		return err
	}
	m, some := elfid.Loaded(), false
	for _, soname := range l.late() {
		for _, path := range named(m, soname) {
			lib, err := elfid.Inspect(path)
			if err == nil && slices.Contains(id.Compiler, key.Pair{Name: lib.Soname, Value: lib.ID}) {
				return nil
			}
			some = true
		}
	}
	if some {
		return fmt.Errorf("%w: another one was opened than was to be expected", errLibraries)
	}
	return nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// variables are the beginnings of the names of environment variables that a
// library obeys. What is not known to change nothing is in.
var variables = [...][]string{
	// Those that libnvrtc 11.8 and 13.0 ask for: NVRTC_APPEND_FLAGS,
	// NVRTC_PREPEND_FLAGS, LLVM_OVERRIDE_PRODUCER, NVRTCWIZ, EDG_BASE.
	NVRTC: {"NVRTC", "NVVM_", "LLVM_OVERRIDE_", "EDG_"},
	HIPRTC: {
		"HIPRTC_", "AMD_COMGR_", "HIP_", "HSA_", "ROCM_", "LLVM_", "DEVICE_LIB_PATH", "CPATH", "C_INCLUDE_PATH",
		"CPLUS_INCLUDE_PATH", "OBJC", "CCC_", "COMPILER_PATH", "LLD_", // LLD_VERSION is in the code
	},
	// Those that libnvJitLink and libnvvm 12.4 ask for, and what ptxas 13.0 does: AS_SECURE_LOG_FILE, DUMP_KNOBS_TO_FILE,
	// LIBNVVM_DISABLE_CONCURRENT_API, LLVM_OVERRIDE_PRODUCER, NVJITLINK_TRACE_MESSAGES, NVVM_IR_VER_CHK, CAN_FINALIZE_DEBUG.
	NVJitLink: linkVariables,
	LibNVVM:   linkVariables,
}

var linkVariables = []string{"NVJITLINK_", "NVVM", "LIBNVVM_", "LLVM_OVERRIDE_", "AS_SECURE_LOG_FILE", "DUMP_KNOBS_TO_FILE", "CAN_FINALIZE_DEBUG"}

// mayHoldOptions reports whether a - or an @ begins something in the value of a variable: it does not in paths,
// and in lists of devices.
func mayHoldOptions(value string) bool {
	for i, c := range value {
		if (c == '-' || c == '@') && (i == 0 || !isWord(value[i-1], "_./-")) {
			return true
		}
	}
	return false
}

// moreOptions reports whether the library may have options of its variables. NVRTC 11.8 has,
// with NVRTCWIZ; what the others do to it is not known.
func (l *Library) moreOptions() bool {
	all, err := l.Variables()
	return err != nil || slices.ContainsFunc(all, func(v key.Pair) bool {
		return v.Value != "" && (l.api == NVRTC || mayHoldOptions(v.Value))
	})
}

// Variables returns the environment variables that the library obeys, as C sees them now.
func (l *Library) Variables() ([]key.Pair, error) {
	var all []key.Pair
	for _, e := range dl.Environ() {
		name, value, ok := strings.Cut(e, "=")
		obeyed := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
		if ok && slices.ContainsFunc(variables[l.api], obeyed) {
			all = append(all, key.Pair{Name: name, Value: value})
		}
	}
	return all, nil
}
