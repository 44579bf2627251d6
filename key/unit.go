package key

import (
	"crypto/sha256"
	"fmt"
	"math"
)

// Unit is one translation unit: code, the headers that are given with it by
// name, and the header files that it was found to read.
type Unit struct {
	Kind    Kind
	Code    []byte
	Headers []Header

	// Includes are the including lines of Code, in order, and Files what they
	// and the lines of those files lead to, in the order in which they are
	// first reached, depth first.
	Includes []Include
	Files    []File

	// Dir is the working directory; set only where what is built depends on
	// paths (__FILE__, -g). Then it and the paths of Files are in the key.
	Dir string
}

// Header is a header that a unit includes: the name as the source writes it,
// and the content.
type Header struct {
	Name    string
	Content []byte
}

// unitBytes is the least that a unit takes.
const unitBytes = 6 * prefixBytes

// Digest returns what the unit adds to its image's digest. Paths are in it only
// where Dir is set: the same files elsewhere make the same unit.
func (u Unit) Digest() Digest {
	h := sha256.New()
	c := newCoder(tagUnit)
	number(c, &u.Kind, math.MaxUint8)
	c.prefix(typeBytes, uint64(len(u.Code)))
	h.Write(c.b)
	h.Write(u.Code)
	c.b = c.b[:0]
	list(c, &u.Headers, 0, nil, func(c *coder, hd *Header) {
		c.text(&hd.Name)
		content := sha256.Sum256(hd.Content)
		c.b = append(c.b, content[:]...)
	})
	c.includes(&u.Includes)
	list(c, &u.Files, 0, nil, func(c *coder, f *File) {
		c.b = append(c.b, f.Digest[:]...)
		c.includes(&f.Includes)
	})
	c.text(&u.Dir)
	if u.Dir != "" {
		for i := range u.Files {
			c.text(&u.Files[i].Path)
		}
	}
	h.Write(c.b)
	return Digest(h.Sum(nil))
}

func (c *coder) unit(u *Unit) {
	number(c, &u.Kind, math.MaxUint8)
	c.bytes(&u.Code)
	ascending := func(a, b *Header) bool { return a.Name < b.Name }
	list(c, &u.Headers, 2*prefixBytes, ascending, func(c *coder, h *Header) {
		c.text(&h.Name)
		c.bytes(&h.Content)
	})
	c.includes(&u.Includes)
	list(c, &u.Files, 4*prefixBytes+len(Digest{}), nil, (*coder).file)
	c.text(&u.Dir)
	if c.r == nil {
		return
	}
	if len(u.Code) == 0 {
		c.r.Fail("unit: %w", ErrEmpty)
	}
	if err := u.CheckFiles(); err != nil {
		c.r.Fail("%w", err)
	}
}

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

// CheckFiles reports whether the files are numbered in the order in which they are
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
			return fmt.Errorf("header files out of order: %s leads to file %d, %d of %d are known there",
				inc.Name, inc.File, next, len(u.Files))
		case inc.File == next:
			next++
			open = append(open, u.Files[inc.File].Includes)
		}
	}
	if next < len(u.Files) {
		return fmt.Errorf("header files out of order: nothing leads to %s", u.Files[next].Path)
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
