// Package digest hashes what names a manifest: numbers and texts, which all have their length
// in front.
package digest

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/kernstash/kernstash/key"
)

// A Hash is written to part by part.
type Hash struct{ hash.Hash }

// New returns a Hash of things of a kind, which the tag tells from others.
func New(tag string) Hash {
	h := Hash{sha256.New()}
	h.Write(append([]byte(tag), 0))
	return h
}

// Number adds a number.
func (h Hash) Number(n int) { h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n))) }

// Text adds a text.
func (h Hash) Text(s string) {
	h.Number(len(s))
	h.Write([]byte(s))
}

// Texts adds a list of texts.
func (h Hash) Texts(list []string) {
	h.Number(len(list))
	for _, s := range list {
		h.Text(s)
	}
}

// Unit adds a unit without its header files.
func (h Hash) Unit(u key.Unit) {
	h.Number(int(u.Kind))
	h.Number(len(u.Code))
	h.Write(u.Code)
	h.Number(len(u.Headers))
	for _, x := range u.Headers {
		h.Text(x.Name)
		h.Number(len(x.Content))
		h.Write(x.Content)
	}
}

// Digest returns the digest of what was added.
func (h Hash) Digest() key.Digest { return key.Digest(h.Sum(nil)) }

// OfUnit returns the digest of a unit without its header files.
func OfUnit(u key.Unit) key.Digest {
	h := New("kernstash unit before its files")
	h.Unit(u)
	return h.Digest()
}
