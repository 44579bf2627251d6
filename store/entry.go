package store

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/kernstash/kernstash/key"
)

// Entry is an artifact with its key and, for Put, the recipe it was built from.
type Entry struct {
	Key      key.Key
	Recipe   *key.Recipe
	Artifact *Artifact

	// From names the remote that Get has it from, for people; "" where it was nearer. It is
	// not stored.
	From string

	// Seal says who vouches for the entry, where somebody does. A store that keeps entries as files
	// keeps its head with them. Get may leave it out.
	Seal *Seal

	// Headers are the contents of header files that the recipe names, by digest, as far as
	// who puts the entry has them. Each is kept once for all entries. An entry is whole
	// without them; only building it again needs them.
	Headers map[key.Digest][]byte
}

// Seal is a signed object of package store/remote in two parts.
type Seal struct {
	Head    []byte // all but the payload: what was signed, by whom, and the signature
	Payload []byte // nil where only the head was kept
}

// Artifact is what a build made: bytes that belong to no context and can
// travel. It must not be changed once it is in use.
type Artifact struct {
	Binaries []Binary      // one or more forms of the code, the one to load first
	Rest     []Unread      // what is stored behind them and was not read; see FirstGetter
	Log      string        // build log, warnings included
	Cost     time.Duration // what building took: what a hit saves
	Created  time.Time
	Kernels  []Kernel // in the driver's order

	// Precompiled are the header files that took part in a precompiled form. They are not stored.
	Precompiled Precompiled

	// Variants name the launches that the code is ready for, where a driver
	// makes code at the first launch of each local size: sorted, each once.
	// Empty where all code is there.
	Variants []string
}

// Precompiled are files that a compiler keeps header files in while its process runs, by their paths.
type Precompiled struct{ Made, Used []string }

// Clone returns a copy that shares nothing which callers may change.
func (a *Artifact) Clone() *Artifact {
	c := *a
	c.Binaries = slices.Clone(a.Binaries)
	for i := range c.Binaries {
		c.Binaries[i].Data = bytes.Clone(c.Binaries[i].Data)
	}
	c.Rest, c.Variants, c.Kernels = slices.Clone(a.Rest), slices.Clone(a.Variants), slices.Clone(a.Kernels)
	for i := range c.Kernels {
		c.Kernels[i].Args = slices.Clone(c.Kernels[i].Args)
	}
	return &c
}

// Form says what kind of code a binary is.
type Form uint8

// The forms, a better one for the next start having the larger number. The
// numbers are part of the format.
const (
	FormIntermediate Form = 1 // the driver finishes it at load (PTX)
	FormDeferred     Form = 2 // the driver adds code at launches (see Variants)
	FormFinal        Form = 3 // machine code, complete
)

var formNames = map[Form]string{FormIntermediate: "intermediate", FormDeferred: "deferred", FormFinal: "final"}

func (f Form) String() string { return cmp.Or(formNames[f], "unknown") }

// Binary is device code in one form.
type Binary struct {
	Form Form
	Data []byte
}

// Unread is a binary without its code.
type Unread struct {
	Form Form
	Size int64
}

// Kernel describes a kernel of a program.
type Kernel struct {
	Name       string `json:"name"`
	Attributes string `json:"attributes,omitempty"` // as the source declared them
	Args       []Arg  `json:"args"`                 // empty where the driver does not tell
}

// Arg describes an argument of a kernel, with the runtime's own numbers.
type Arg struct {
	Name     string `json:"name"`
	TypeName string `json:"type"`
	Address  uint64 `json:"-"`
	Access   uint64 `json:"-"`
	TypeQual uint64 `json:"-"`
}

// Size returns the bytes of all binaries, whether they were read or not.
func (a *Artifact) Size() int64 {
	n := a.Unread()
	for _, b := range a.Binaries {
		n += int64(len(b.Data))
	}
	return n
}

// Unread returns the bytes of the binaries that were not read.
func (a *Artifact) Unread() (n int64) {
	for _, u := range a.Rest {
		n += u.Size
	}
	return n
}

// Better reports whether a should replace b, an artifact of the same key: its
// first binary is of a better form, or of the same form and ready for all the
// launches that b is ready for and more.
func (a *Artifact) Better(b *Artifact) bool {
	if len(b.Binaries) == 0 || len(a.Binaries) == 0 {
		return len(a.Binaries) > 0
	}
	if fa, fb := a.Binaries[0].Form, b.Binaries[0].Form; fa != fb {
		return fa > fb
	}
	return len(a.Variants) > len(b.Variants) && !slices.ContainsFunc(b.Variants, func(v string) bool {
		_, ready := slices.BinarySearch(a.Variants, v)
		return !ready
	})
}
