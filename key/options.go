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

// Tokens splits a string of build options into its words.
//
// Only what no compiler tells apart is made equal: runs of spaces between
// words, and spaces at the ends. Drivers disagree on everything else (some
// split at spaces alone, some know quotes), so quotes and backslashes stay in
// the word as they are and protect the spaces in them, and other white space
// is not a separator. Where two drivers would split differently the words keep
// the difference: the price is a miss, never a wrong binary.
func Tokens(options string) []string {
	var words []string
	for rest := strings.TrimLeft(options, " "); rest != ""; rest = strings.TrimLeft(rest, " ") {
		n := wordLen(rest)
		words = append(words, rest[:n])
		rest = rest[n:]
	}
	return words
}

// wordLen returns the length of the word that s starts with.
func wordLen(s string) int {
	var quote byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++ // whatever follows belongs to the word
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == ' ':
			return i
		}
	}
	return len(s)
}

// canonical returns words of compile options of OpenCL for a digest: what a compiler cannot
// tell apart is one request. Definitions of macros come first, in one spelling, by name;
// those of one name, and all other words, keep their order. Where a word is not known to
// stand for itself, words are returned as they are.
func canonical(words []string) []string {
	if !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "-D") || strings.HasPrefix(w, "-U") }) ||
		slices.ContainsFunc(words, isSplit) {
		return words
	}
	var others []string
	var macros []macro
	for i := 0; i < len(words); i++ {
		w := words[i]
		kind := w[:min(len(w), 2)]
		switch {
		case kind == "-D" || kind == "-U":
			text := w[2:]
			if text == "" {
				if i++; i == len(words) {
					return words
				}
				text = words[i]
			}
			m, ok := newMacro(kind, text)
			if !ok {
				return words
			}
			macros = append(macros, m)
		case standsAlone(w):
			others = append(others, w)
		default:
			return words
		}
	}
	slices.SortStableFunc(macros, func(a, b macro) int { return strings.Compare(a.name, b.name) })
	var all []string
	for _, m := range macros {
		all = append(all, m.word)
	}
	return append(all, others...)
}

// isSplit reports whether drivers split a word in several ways.
func isSplit(w string) bool {
	return strings.ContainsAny(w, "\"'\\") || strings.ContainsFunc(w, func(c rune) bool { return c <= ' ' || c == 0x7f })
}

// macro is a definition, or the opposite, in one word.
type macro struct{ name, word string }

func newMacro(kind, text string) (macro, bool) {
	const digits, letters = "0123456789", "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	rest := strings.TrimLeft(text, letters+digits)
	name := text[:len(text)-len(rest)]
	if name == "" || strings.Contains(digits, name[:1]) || rest != "" && (kind == "-U" || rest[0] != '=' && rest[0] != '(') {
		return macro{}, false
	}
	return macro{name, kind + text}, true
}

// standsAlone reports whether a word is an option, and takes in no other. Debug options are
// not among them: what they record nobody has looked at.
func standsAlone(w string) bool {
	return w == "-w" || strings.HasPrefix(w, "-I") && len(w) > 2 ||
		slices.ContainsFunc([]string{"-cl-", "-W", "-O", "-std=", "-ffast-math", "-ffp-contract=", "-fno-"},
			func(start string) bool { return strings.HasPrefix(w, start) }) && !strings.Contains(w, ",")
}
