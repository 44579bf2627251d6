// Package ptx finds what NVIDIA's assembler of PTX reads besides the PTX.
package ptx

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/kernstash/kernstash/internal/pattern"
	"github.com/kernstash/kernstash/key"
)

var fileDirective = pattern.Lazy(`\.file[ \t]+[0-9]+[ \t]+"([^"\\\n]*)"`)

// Files returns what the assembler sees of the files that .file directives name: it looks
// for each in the working directory, and writes time and size into what it makes.
func Files(code []byte) (files []key.Pair, err error) {
	named := fileDirective().FindAllSubmatch(code, -1)
	if bytes.Count(code, []byte(".file")) != len(named) {
		return nil, errors.New("a .file that is not understood")
	}
	for _, m := range named {
		name, state := string(m[1]), "absent"
		info, err := os.Stat(name)
		switch {
		case err == nil:
			state = fmt.Sprintf("%d ns, %d bytes", info.ModTime().UnixNano(), info.Size())
		case !errors.Is(err, fs.ErrNotExist):
			state = "not to be seen"
		}
		files = append(files, key.Pair{Name: FileAttribute, Value: name + ": " + state})
	}
	return slices.Compact(files), nil
}

// FileAttribute is the name of what Files returns.
const FileAttribute = "file"
