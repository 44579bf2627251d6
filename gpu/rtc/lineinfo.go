package rtc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/internal/pattern"
	"github.com/kernstash/kernstash/key"
)

// With line information PTX names the files that the code is of, by .file directives, and the line
// table of machine code has the time, to the second, and the size of each that is there when it is
// compiled, be it read or not: that of the program's name, and those of headers in memory, too
// (seen with NVRTC 11.8 and 12.4, by changing the times, and in the system calls).

// attrFile is of a file that line information may name and that is not read: its path, and what the
// compiler sees there.
const attrFile = "file"

// namedFiles returns the attributes of these files of a program; timed says that the compiler looks at them.
func namedFiles(name string, headers []key.Header, dir string, timed bool) (files []key.Pair) {
	if name == "" {
		name = "default_program"
	}
	paths := []string{name}
	for _, h := range headers {
		paths = append(paths, h.Name)
	}
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			path = dir + "/" + path // as it is: NVRTC does not clean it
		}
		state := "not looked at"
		if timed {
			state = stateOf(path)
		}
		files = append(files, key.Pair{Name: attrFile, Value: path + ": " + state})
	}
	return files
}

func stateOf(path string) string {
	info, err := os.Stat(path)
	switch {
	case err == nil:
		return fmt.Sprintf("%d s, %d bytes", info.ModTime().Unix(), info.Size())
	case errors.Is(err, fs.ErrNotExist):
		return "absent"
	}
	return "not to be seen"
}

var (
	fileDirective = pattern.Lazy(`(?m)^[ \t]*\.file[ \t]+[0-9]+[ \t]+"([^"\\\n]*)"`)
	fileLine      = pattern.Lazy(`(?m)^[ \t]*\.file[ \t]`)
)

// unkeyedFile returns a file that the output's line information names and that is not in the key of
// its recipe as the output has it, as one of a #line; false: there is none.
func (o *Output) unkeyedFile(r *key.Recipe) (path string, found bool) {
	ptx, _ := o.Get(PTX)
	named := fileDirective().FindAllSubmatch(ptx, -1)
	if len(named) < len(fileLine().FindAll(ptx, -1)) {
		return "one that is not understood", true
	}
	if len(named) == 0 {
		return "", false
	}
	_, timed := o.Get(CUBIN)
	keyed := make(map[string]bool)
	_, times := key.Attribute(r.Options.Attributes, deps.HeaderTimes)
	for _, u := range r.Image.Units() {
		for _, f := range u.Files {
			keyed[f.Path] = u.Dir != "" && (times || !timed)
		}
	}
	for _, a := range r.Options.Attributes {
		if a.Name == attrFile {
			at := strings.LastIndex(a.Value, ": ")
			path, state := a.Value[:at], a.Value[at+len(": "):]
			keyed[path] = !timed || state == stateOf(path)
		}
	}
	for _, m := range named {
		if path := string(m[1]); !keyed[path] {
			return path, true
		}
	}
	return "", false
}
