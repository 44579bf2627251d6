package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

// LibraryDir is the variable that says where the libraries are.
const LibraryDir = "KERNSTASH_LIBDIR"

// MissingError says that the libraries are nowhere.
type MissingError struct{ Looked []string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s and %s are in none of %s; %s may say where they are",
		Layer, Library, strings.Join(e.Looked, ", "), LibraryDir)
}

// Find returns the paths of the libraries, which lie beside each other: in the
// directory that KERNSTASH_LIBDIR names, else in one that goes with the program,
// wherever that was moved to. The error is a *MissingError.
func Find(env []string, program string) (Libraries, error) {
	var looked []string
	for _, dir := range libraryDirs(environ(env).get(LibraryDir), program) {
		layer := filepath.Join(dir, Layer)
		if isFile(layer) && isFile(filepath.Join(dir, Library)) {
			preload := filepath.Join(dir, Preload)
			if !isFile(preload) {
				preload = ""
			}
			return Libraries{layer, preload}, nil
		}
		looked = append(looked, dir)
	}
	return Libraries{}, &MissingError{looked}
}

// libraryDirs are: where `make install` puts them, where distributions do, and
// a build tree's.
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
	dirs := []string{filepath.Join(dir, "..", "lib", "kernstash"), filepath.Join(dir, "..", "lib"), dir}
	for i := range dirs {
		dirs[i] = filepath.Clean(dirs[i])
	}
	return dirs
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Preloadable returns the libraries as they can be used: without the one to preload,
// and with the reason, where the dynamic linker cannot be told of it.
func (l Libraries) Preloadable() (Libraries, error) {
	if preloadable(l.Preload) {
		return l, nil
	}
	why := fmt.Errorf("run-time compilers, and runtimes without layers, go without the cache: LD_PRELOAD takes no path with a space or a colon: %s", l.Preload)
	l.Preload = ""
	return l, why
}
