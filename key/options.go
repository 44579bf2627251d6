package key

import (
	"crypto/sha256"
	"slices"
	"strings"
)

// BuildOptions are the options of a build, and the environment variables that
// the compiler is known to obey.
type BuildOptions struct {
	Compile []string `json:"compile,omitempty"` // words, in order
	Link    []string `json:"link,omitempty"`    // words, in order

	// Absent says that the caller gave no options at all (a NULL pointer in
	// C), which some drivers answer otherwise than an empty string.
	Absent bool `json:"absent,omitempty"`

	// LinkAbsent says the same of the link options.
	LinkAbsent bool `json:"linkAbsent,omitempty"`

	// Variables are environment variables and their values, by name.
	Variables []Pair `json:"variables,omitempty"`

	// Search are the compile options that only name directories of header
	// files, in order. They are in no key: the files that were found are, in
	// the image. The driver gets them before the others.
	Search []string `json:"search,omitempty"`
}

// NewOptions returns the options that two strings hold; see [Tokens].
func NewOptions(compile, link string) BuildOptions {
	return BuildOptions{Compile: Tokens(compile), Link: Tokens(link)}
}

// CompileString returns the compile options as one string for the driver, the
// directories first: so no option takes one of them for its argument.
func (o BuildOptions) CompileString() string {
	if len(o.Search) == 0 {
		return strings.Join(o.Compile, " ")
	}
	return strings.Join(slices.Concat(o.Search, o.Compile), " ")
}

// LinkString returns the link options as one string for the driver.
func (o BuildOptions) LinkString() string { return strings.Join(o.Link, " ") }

// Digest returns the options component of a key. The order of the words
// matters, that of the variables does not; Search does not count.
func (o BuildOptions) Digest() Digest {
	var buf [512]byte
	return sha256.Sum256(o.append(append(buf[:0], tagOptions...)))
}

func (o BuildOptions) normal() BuildOptions {
	o.Variables = sortedPairs(o.Variables)
	return o
}

func (o BuildOptions) append(b []byte) []byte {
	o = o.normal()
	b = appendWords(b, o.Compile)
	b = appendWords(b, o.Link)
	b = appendBool(b, o.Absent)
	b = appendBool(b, o.LinkAbsent)
	return appendPairs(b, o.Variables)
}

func (r *reader) options() (o BuildOptions) {
	o.Compile = r.words()
	o.Link = r.words()
	o.Absent = r.bool()
	o.LinkAbsent = r.bool()
	o.Variables = r.pairs()
	return o
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return appendUint(b, 1)
	}
	return appendUint(b, 0)
}

func appendWords(b []byte, words []string) []byte {
	b = appendCount(b, len(words))
	for _, w := range words {
		b = appendText(b, w)
	}
	return b
}

func (r *reader) words() []string {
	n := r.count(prefixBytes)
	if n == 0 {
		return nil
	}
	words := make([]string, n)
	for i := range words {
		words[i] = r.text()
	}
	return words
}
