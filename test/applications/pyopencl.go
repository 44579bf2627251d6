package main

import (
	"cmp"
	"os"
	"path/filepath"
)

// pyopenclVariable names the directory of pyopencl's tests, where they are not Debian's:
// those of another version test what it has not.
const pyopenclVariable = "KERNSTASH_PYOPENCL_TESTS"

// pyopenclTests are files of pyopencl's own test-suite. Its output is the outcome of each
// test, and how many warnings there were: build logs are among them.
func pyopenclTests(name string, long bool, files ...string) application {
	dir := cmp.Or(os.Getenv(pyopenclVariable), "/usr/share/doc/python-pyopencl-doc/examples")
	a := application{
		name: name, debian: "python3-pyopencl python-pyopencl-doc python3-pytest", builds: true, warmRuns: 1, long: long,
		needs:   []string{python, "/usr/lib/python3/dist-packages/pyopencl/__init__.py", "/usr/lib/python3/dist-packages/pytest/__init__.py"},
		command: []string{python, "-m", "pytest", "-v", "--no-header", "--disable-warnings", "-p", "no:cacheprovider", "--rootdir", dir},
		env:     []string{"PYTHONDONTWRITEBYTECODE=1", "COLUMNS=200"},
		varies:  []change{{` in [\d.]+s( \([\d:]+\))? =+$`, " in TIME"}, {`^=+ (\d+ )`, "${1}"}},
	}
	if !long {
		a.uncacheable = 3 // header files in memory beside directories to search; a unit that is linked with one of them
	}
	for _, f := range files {
		path := filepath.Join(dir, "test_"+f+".py")
		a.needs, a.command = append(a.needs, path), append(a.command, path)
	}
	return a
}
