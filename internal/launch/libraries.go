package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Layer is the file name of the OpenCL layer, Library of what it opens.
const (
	Layer   = "libkernstash_opencl_layer.so"
	Library = "libkernstash.so.1"
)

// LibraryDir is the variable that says where the libraries are.
const LibraryDir = "KERNSTASH_LIBDIR"

// MissingError says that the libraries are nowhere.
type MissingError struct{ Looked []string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s and %s are in none of %s; %s may say where they are",
		Layer, Library, strings.Join(e.Looked, ", "), LibraryDir)
}

// FindLayer returns the path of the layer, beside which the library lies:
// in the directory that KERNSTASH_LIBDIR names, else in one that goes with the
// program, wherever that was moved to. The error is a *MissingError.
func FindLayer(env []string, program string) (string, error) {
	var looked []string
	for _, dir := range libraryDirs(environ(env).get(LibraryDir), program) {
		layer := filepath.Join(dir, Layer)
		if isFile(layer) && isFile(filepath.Join(dir, Library)) {
			return layer, nil
		}
		looked = append(looked, dir)
	}
	return "", &MissingError{looked}
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
