package key

import (
	"errors"
	"fmt"
	"math"
)

// Include is what an including line leads to.
type Include struct {
	Name string // as written or as it expands, with its delimiters: "a.h" or <a.h>
	File int    // index in Unit.Files; -1: there is no such file
}

// File is a header file that a unit reads. Its content is kept once for all
// recipes, by digest.
type File struct {
	Path     string // absolute; where it was
	Digest   Digest // SHA-256 of its content
	Size     int64
	Includes []Include
}

// errFiles is wrapped where includes and files do not fit each other.
var errFiles = errors.New("header files out of order")

// CheckFiles says whether the files are numbered in the order in which they are
// first reached, depth first, and all of them are: so there is one way to
// write what a unit reads.
func (u Unit) CheckFiles() error {
	next := 0
	for open := [][]Include{u.Includes}; len(open) > 0; {
		top := &open[len(open)-1]
		if len(*top) == 0 {
			open = open[:len(open)-1]
			continue
		}
		inc := (*top)[0]
		*top = (*top)[1:]
		switch {
		case inc.File < -1, inc.File > next, inc.File >= len(u.Files):
			return fmt.Errorf("%w: %s leads to file %d, %d of %d are known there", errFiles, inc.Name, inc.File, next, len(u.Files))
		case inc.File == next:
			next++
			open = append(open, u.Files[inc.File].Includes)
		}
	}
	if next < len(u.Files) {
		return fmt.Errorf("%w: nothing leads to %s", errFiles, u.Files[next].Path)
	}
	return nil
}

// The encoding writes the number of a file plus one, so that none is 0.
func appendIncludes(b []byte, includes []Include) []byte {
	b = appendCount(b, len(includes))
	for _, inc := range includes {
		b = appendInclude(b, inc)
	}
	return b
}

func appendInclude(b []byte, inc Include) []byte {
	return appendUint(appendText(b, inc.Name), uint64(inc.File+1))
}

func (r reader) includes() []Include {
	n := r.count(2 * prefixBytes)
	if n == 0 {
		return nil
	}
	includes := make([]Include, n)
	for i := range includes {
		includes[i] = Include{r.text(), int(r.uint(math.MaxInt32)) - 1}
	}
	return includes
}

func appendFiles(b []byte, files []File) []byte {
	b = appendCount(b, len(files))
	for i := range files {
		f := &files[i]
		b = appendText(b, f.Path)
		b = appendBytes(b, f.Digest[:])
		b = appendUint(b, uint64(f.Size))
		b = appendIncludes(b, f.Includes)
	}
	return b
}

func (r reader) files() []File {
	n := r.count(4*prefixBytes + len(Digest{}))
	if n == 0 {
		return nil
	}
	files := make([]File, n)
	for i := range files {
		files[i] = File{r.text(), r.digest(), int64(r.uint(math.MaxInt64)), r.includes()}
	}
	return files
}

func (r reader) digest() (d Digest) {
	b := r.bytes()
	if len(b) != len(d) {
		r.Fail("a digest of %d bytes", len(b))
	}
	copy(d[:], b)
	return d
}
