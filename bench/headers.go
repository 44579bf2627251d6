package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/key"
)

// headerFiles is how many header files a source reads.
const headerFiles = 20

// settled is more than the grain of file times.
const settled = 3500 * time.Millisecond

// headerRows compare looking whether the header files of a source are as they
// were with the bare calls: one stat for each of them, and one for each name
// that was looked for in vain.
func headerRows(s *setting) ([]row, error) {
	dir := filepath.Join(s.dir, "headers")
	// The working directory is looked at as well.
	empty, full := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	var source strings.Builder
	var paths []string
	for _, d := range []string{empty, full} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	for i := range headerFiles {
		name := fmt.Sprintf("h%02d.h", i)
		fmt.Fprintf(&source, "#include <%s>\n", name)
		path := filepath.Join(full, name)
		if err := os.WriteFile(path, fmt.Appendf(nil, "#define H%d %d\n", i, i), 0o600); err != nil {
			return nil, err
		}
		paths = append(paths, filepath.Join(empty, name), filepath.Join(dir, name), path)
	}
	source.WriteString("kernel void k(global int *p) { p[0] = H7; }\n")
	unit := key.Unit{Kind: key.OpenCLC, Code: []byte(source.String())}
	t, reason := deps.Track(unit, []string{"-I" + empty, "-I" + full}, deps.Search{Dir: dir})
	if !reason.None() {
		return nil, fmt.Errorf("headers: %s", reason)
	}
	if got := len(t.Unit.Files); got != headerFiles {
		return nil, fmt.Errorf("%d header files were found, want %d", got, headerFiles)
	}
	// A file that is this moment's is read, since a change might not show.
	time.Sleep(settled)
	return []row{{
		name: fmt.Sprintf("%d unchanged headers, looked for in 3 directories: checked / %d stat calls", headerFiles, len(paths)),
		ours: func(n int) {
			for range n {
				if _, changed := t.Manifest.Check(); changed != "" {
					panic(changed + " changed")
				}
			}
		},
		theirs: func(n int) {
			for range n {
				for i, path := range paths {
					if _, err := os.Stat(path); (err == nil) != (i%3 == 2) {
						panic(path)
					}
				}
			}
		},
		bar: bar{factor: 1.5}, // a read of each would be more
	}}, nil
}
