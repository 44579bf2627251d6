package key

import (
	"crypto/sha256"
	"slices"
	"strings"
)

// BuildOptions are the options of a build, the environment variables that the
// compiler is known to obey, and what a front end adds.
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

	// Attributes are what a front end adds to a request that is no option: a
	// name expression, say, or the order of modules. They are sorted by name;
	// those of one name keep their order, which may mean something. A front end
	// to which it means nothing sorts them.
	Attributes []Pair `json:"attributes,omitempty"`

	// Search are the compile options that only name directories of header
	// files, in order. They are in no key: the files that were found are, in
	// the image. The driver gets them before the others.
	Search []string `json:"search,omitempty"`

	// Unkeyed are attributes that are in no key: what is built is the same
	// without them, but for what it is called in messages.
	Unkeyed []Pair `json:"unkeyed,omitempty"`
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
// matters, and that of attributes of one name; that of the variables does not.
// Search and Unkeyed do not count.
func (o BuildOptions) Digest() Digest {
	c := &coder{b: []byte(tagOptions)}
	o = o.normal()
	c.options(&o)
	return sha256.Sum256(c.b)
}

func (o BuildOptions) normal() BuildOptions {
	o.Variables = sorted(o.Variables, comparePairs)
	o.Attributes = SortAttributes(o.Attributes)
	o.Unkeyed = SortAttributes(o.Unkeyed)
	return o
}

// options codes what is in the key of options that are normal.
func (c *coder) options(o *BuildOptions) {
	c.words(&o.Compile)
	c.words(&o.Link)
	c.bool(&o.Absent)
	c.bool(&o.LinkAbsent)
	c.pairs(&o.Variables, comparePairs)
	c.pairs(&o.Attributes, compareNames)
}

// SortAttributes returns attributes sorted by name, those of one name in their
// order; it does not change p.
func SortAttributes(p []Pair) []Pair { return sorted(p, compareNames) }

// Attribute returns the value of the first attribute of a name.
func Attribute(p []Pair, name string) (value string, ok bool) {
	i := slices.IndexFunc(p, func(a Pair) bool { return a.Name == name })
	if i < 0 {
		return "", false
	}
	return p[i].Value, true
}

func compareNames(a, b Pair) int { return strings.Compare(a.Name, b.Name) }
