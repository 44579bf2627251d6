// Package loaded finds out which shared libraries the processes of a command
// load, at their start and later by dlopen, as the dynamic linker reports it.
package loaded

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Variables returns what has the dynamic linker of glibc (LD_DEBUG, see ld.so(8))
// report into dir, one file for each process. Static programs, and those with
// rights that the user has not, report nothing.
func Variables(dir string) []string {
	return []string{"LD_DEBUG=files", "LD_DEBUG_OUTPUT=" + filepath.Join(dir, prefix)}
}

const prefix = "ld"

// Object is a library, or a program, that was loaded.
type Object struct {
	Path string   `json:"path"`         // as the dynamic linker found it
	By   []string `json:"by,omitempty"` // the programs that loaded it, in order; none for a program
}

// Report is what was loaded.
type Report struct {
	Programs  []Object // each file once, by path
	Libraries []Object // likewise
}

// Read returns what the linkers reported into dir. Some lines may be lost where a
// process was killed.
func Read(dir string) (*Report, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	libraries, programs := make(map[string][]string), make(map[string][]string)
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), prefix+".") {
			continue
		}
		if err := read(filepath.Join(dir, f.Name()), libraries, programs); err != nil {
			return nil, err
		}
	}
	return &Report{sorted(programs), sorted(libraries)}, nil
}

// maxLine bounds a line of a report: a path, and a little more.
const maxLine = 64 << 10

// read reads the report of one process, which may have run several programs one
// after the other. Each begins with the dynamic linker itself; the libraries that
// it is linked with come before its name, those that it opens behind.
func read(name string, libraries, programs map[string][]string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	var linked []string
	program := ""
	add := func(library string) {
		if by := libraries[library]; !slices.Contains(by, program) {
			libraries[library] = append(by, program)
		}
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		_, text, _ := strings.Cut(lines.Text(), ":\t")
		switch what, path, _ := strings.Cut(text, ": "); {
		case what == "calling init" && strings.HasPrefix(filepath.Base(path), "ld-linux"):
			linked, program = nil, ""
		case what == "calling init" && program == "":
			linked = append(linked, path)
		case what == "calling init":
			add(path)
		case what == "initialize program":
			program = path
			programs[path] = nil
			for _, library := range linked {
				add(library)
			}
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func sorted(from map[string][]string) []Object {
	objects := make([]Object, 0, len(from))
	for _, path := range slices.Sorted(maps.Keys(from)) {
		objects = append(objects, Object{path, from[path]})
	}
	return objects
}
