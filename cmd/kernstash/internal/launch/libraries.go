package launch

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/compile"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/worker"
)

// Preload is the file name of what stands before compilers that have no loader with
// layers, Library of what it and the layer open.
const (
	Preload = "libkernstash_preload.so"
	Library = "libkernstash.so.1"
)

// Libraries are the files that come into programs.
type Libraries struct {
	Layer   string
	Preload string // "" where it is not installed, or not wanted
}

// libraryDir is the variable that says where the libraries are.
const libraryDir = "KERNSTASH_LIBDIR"

// Find returns the paths of the libraries, which lie beside each other: in the directory that
// KERNSTASH_LIBDIR names, else in one that goes with this program, wherever that is.
func Find() (Libraries, error) {
	program, err := os.Executable()
	if err != nil {
		return Libraries{}, err
	}
	dirs := libraryDirs(os.Getenv(libraryDir), program)
	for _, dir := range dirs {
		layer, preload := filepath.Join(dir, runtimes.Layers().Library), filepath.Join(dir, Preload)
		if isFile(layer) && isFile(filepath.Join(dir, Library)) {
			if !isFile(preload) {
				preload = ""
			}
			return Libraries{layer, preload}, nil
		}
	}
	return Libraries{}, fmt.Errorf("%s and %s are in none of %s; %s may say where they are",
		runtimes.Layers().Library, Library, strings.Join(dirs, ", "), libraryDir)
}

// libraryDirs are those of `make install`, of distributions, and of a build tree.
func libraryDirs(named, program string) []string {
	if named != "" {
		if abs, err := filepath.Abs(named); err == nil {
			named = abs
		}
		return []string{named}
	}
	if real, err := filepath.EvalSymlinks(program); err == nil {
		program = real
	}
	dir := filepath.Dir(program)
	return []string{filepath.Join(dir, "..", "lib", "kernstash"), filepath.Join(dir, "..", "lib"), dir}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Entry returns our libraries, and the variables that bring them into programs as the options
// say, beside what an environment has already; nothing is preloaded unless preloads is set.
// missing is why a part of what was asked for cannot be there.
func (o *Options) Entry(env []string, preloads bool) (l Libraries, variables []Variable, missing, err error) {
	if l, err = Find(); err != nil {
		return l, nil, nil, err
	}
	inject := o.Inject
	if !preloads {
		inject = InjectLayer // which does no harm where it does nothing
	}
	switch {
	case o.NoPreload || !preloads:
		l.Preload = ""
	case !preloadable(l.Preload):
		missing = fmt.Errorf("run-time compilers, and runtimes without layers, go without the cache: LD_PRELOAD takes no path with a space or a colon: %s", l.Preload)
		l.Preload = ""
	}
	if variables, err = entryVariables(env, l, inject); err != nil {
		return l, nil, missing, err
	}
	if o.NoCompilers {
		variables = slices.DeleteFunc(variables, func(v Variable) bool { return v.Name == worker.CommandVariable })
	} else if o.Launchers {
		all, err := launchers(env)
		return l, append(variables, all...), cmp.Or(missing, err), nil
	}
	return l, variables, missing, nil
}

// launchers returns those of the variables that an environment has not already.
func launchers(env []string) (all []Variable, err error) {
	command, err := cli.CommandPath()
	if err == nil && strings.Trim(command, plain) != "" {
		err = fmt.Errorf("build systems start nvcc as ever: they would read a path as something else: %s", command)
	}
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(compile.Launchers)) {
		if environ(env).get(name) == "" {
			all = append(all, Variable{name, fmt.Sprintf(compile.Launchers[name], command)})
		}
	}
	return all, nil
}

// plain are characters that mean nothing to CMake, ninja, a shell and systemd.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-"

// InjectVariable tells the layer which of the ways in are ours.
const InjectVariable = "KERNSTASH_INJECT"

// The ways into programs of the runtime that has layers, of which the first to come to a
// process serves it.
const (
	InjectAuto    = "auto"    // both
	InjectLayer   = "layer"   // the loader brings us in
	InjectPreload = "preload" // LD_PRELOAD: the dynamic linker does
)

// Injects are all of them.
var Injects = []string{InjectAuto, InjectLayer, InjectPreload}

// entryVariables returns what brings the libraries into programs, the layer in the way that inject
// says, beside what an environment has already. With InjectAuto and a path that cannot be
// preloaded it is InjectLayer.
func entryVariables(env []string, l Libraries, inject string) ([]Variable, error) {
	e, layers := environ(env), runtimes.Layers().Variable
	if inject == InjectAuto && !preloadable(l.Layer) {
		inject = InjectLayer
	}
	all := []Variable{{InjectVariable, inject}}
	var preload []string
	if inject != InjectLayer {
		preload = append(preload, l.Layer)
	}
	if inject != InjectPreload {
		if strings.ContainsRune(l.Layer, ':') {
			return nil, fmt.Errorf("%s: %s takes no path with a colon", l.Layer, layers)
		}
		// In front, which is next to the driver: the cache sees the programs that
		// other layers have made of the application's. Also, ocl-icd writes into the
		// variable, so that children of a program inherit the first layer alone.
		all = append(all, Variable{layers, first(e.get(layers), l.Layer, ":")})
	}
	if l.Preload != "" {
		preload = append(preload, l.Preload)
		// What is preloaded starts compilers through the command.
		if command, err := cli.CompilePath(); err == nil && e.get(worker.CommandVariable) == "" {
			all = append(all, Variable{worker.CommandVariable, command})
		}
	}
	list := e.get("LD_PRELOAD")
	for _, library := range preload {
		if !preloadable(library) {
			return nil, fmt.Errorf("%s: LD_PRELOAD takes no path with a space or a colon", library)
		}
		list = last(list, library, ": ") // behind others: a sanitizer's runtime must come first
	}
	if len(preload) > 0 {
		all = append(all, Variable{"LD_PRELOAD", list})
	}
	return all, nil
}

func preloadable(path string) bool { return !strings.ContainsAny(path, " :") }

// Variable is one of the environment.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// environ is a list of NAME=value; of equal names the first counts.
type environ []string

func (e environ) get(name string) string {
	for _, kv := range e {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// with returns a copy in which the variables have these values.
func (e environ) with(variables []Variable) environ {
	out := slices.DeleteFunc(slices.Clone(e), func(kv string) bool {
		return slices.ContainsFunc(variables, func(v Variable) bool { return strings.HasPrefix(kv, v.Name+"=") })
	})
	for _, v := range variables {
		out = append(out, v.Name+"="+v.Value)
	}
	return out
}

// first returns a list of elements with one in front, where it is not in it yet.
func first(list, element, separators string) string {
	switch {
	case slices.Contains(Elements(list, separators), element):
		return list
	case list == "":
		return element
	}
	return element + separators[:1] + list
}

// last is first at the other end.
func last(list, element, separators string) string {
	if list == "" || slices.Contains(Elements(list, separators), element) {
		return first(list, element, separators)
	}
	return list + separators[:1] + element
}

// Elements returns the elements of a list.
func Elements(list, separators string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(separators, r) })
}

// OwnLibraries returns those of a list of libraries that are ours.
func OwnLibraries(list, separators string) (own []string) {
	for _, path := range Elements(list, separators) {
		if name := filepath.Base(path); name == runtimes.Layers().Library || name == Preload {
			own = append(own, path)
		}
	}
	return own
}
