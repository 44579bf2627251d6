package key

import (
	"crypto/sha256"
	"hash"
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
	d := digester{Hash: sha256.New()}
	b := append(d.buf[:0], tagUnit...)
	b = appendUint(b, uint64(u.Kind))
	b = appendPrefix(b, typeBytes, uint64(len(u.Code)))
	d.Write(b)
	d.Write(u.Code)
	b = appendCount(d.buf[:0], len(u.Headers))
	for _, hd := range u.Headers {
		content := sha256.Sum256(hd.Content)
		b = append(appendText(b, hd.Name), content[:]...)
		b = d.room(b)
	}
	b = d.includes(b, u.Includes)
	b = appendCount(b, len(u.Files))
	for i := range u.Files {
		b = append(b, u.Files[i].Digest[:]...)
		b = d.includes(b, u.Files[i].Includes)
	}
	b = appendText(b, u.Dir)
	if u.Dir != "" {
		for i := range u.Files {
			b = d.room(appendText(b, u.Files[i].Path))
		}
	}
	d.Write(b)
	return Digest(d.Sum(nil))
}

// digester hashes an encoding piece by piece: that of a library's headers is long, and
// memory that a process has not touched yet costs more than hashing it.
type digester struct {
	hash.Hash
	buf [1024]byte
}

// room returns b, or what is left to hash of it: nothing, once it is half a buffer.
func (d *digester) room(b []byte) []byte {
	if len(b) < len(d.buf)/2 {
		return b
	}
	d.Write(b)
	return d.buf[:0]
}

func (d *digester) includes(b []byte, includes []Include) []byte {
	b = d.room(appendCount(b, len(includes)))
	for _, inc := range includes {
		b = d.room(appendInclude(b, inc))
	}
	return b
}

func (u Unit) append(b []byte) []byte {
	b = appendUint(b, uint64(u.Kind))
	b = appendBytes(b, u.Code)
	b = appendCount(b, len(u.Headers))
	for _, h := range u.Headers {
		b = appendText(b, h.Name)
		b = appendBytes(b, h.Content)
	}
	b = appendIncludes(b, u.Includes)
	b = appendFiles(b, u.Files)
	return appendText(b, u.Dir)
}

func (r reader) unit() (u Unit) {
	u.Kind = Kind(r.uint(255))
	u.Code = r.bytes()
	u.Headers = make([]Header, r.count(2*prefixBytes))
	for j := range u.Headers {
		u.Headers[j] = Header{r.text(), r.bytes()}
		if j > 0 && u.Headers[j-1].Name >= u.Headers[j].Name {
			r.Fail("header %q is out of order", u.Headers[j].Name)
		}
	}
	u.Includes = r.includes()
	u.Files = r.files()
	u.Dir = r.text()
	if len(u.Code) == 0 {
		r.Fail("unit: %w", ErrEmpty)
	}
	if err := u.CheckFiles(); err != nil {
		r.Fail("%w", err)
	}
	return u
}
