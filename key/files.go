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
	Path     string    `json:"path"`   // absolute; where it was
	Digest   Digest    `json:"digest"` // SHA-256 of its content
	Size     int64     `json:"size"`
	Includes []Include `json:"-"`
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

// include codes an include. The number of a file is written plus one, so that none is 0.
func (c *coder) include(inc *Include) {
	file := inc.File + 1
	c.text(&inc.Name)
	number(c, &file, math.MaxInt32)
	if c.r != nil {
		inc.File = file - 1
	}
}

func (c *coder) includes(all *[]Include) { list(c, all, 2*prefixBytes, nil, (*coder).include) }

func (c *coder) file(f *File) {
	c.text(&f.Path)
	c.digest(&f.Digest)
	number(c, &f.Size, math.MaxInt64)
	c.includes(&f.Includes)
}
