package key

import (
	"crypto/sha256"
	"slices"
	"strings"
)

// Device is the identity of a device: all that can make the same program
// compile to other code. Two devices of equal identity share entries.
type Device struct {
	API      string `json:"api"`      // "opencl", "cuda", "levelzero", or the caller's own
	Platform string `json:"platform"` // platform name
	Name     string `json:"name"`     // device name
	Version  string `json:"version"`  // device version
	Driver   string `json:"driver"`   // driver version

	// Traits are what two devices of one name can differ in: compute
	// capability, PCI device id, stepping, CPU features.
	Traits []Pair `json:"traits,omitempty"`

	// Compiler names what compiles: versions, and the build ids of the
	// libraries. A driver's version string often leaves its compiler out.
	Compiler []Pair `json:"compiler,omitempty"`
}

// Pair is a name and a value.
type Pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// String returns the seed's four: platform / name / version / driver.
func (d Device) String() string {
	return strings.Join([]string{d.Platform, d.Name, d.Version, d.Driver}, " / ")
}

// deviceSize is what the encoding of most devices takes. To find it by and by takes memory
// of six sizes, which a process's first program waits for.
const deviceSize = 2 << 10

// Digest returns the device component of a key. Traits and Compiler count as
// sets: their order does not matter.
func (d Device) Digest() Digest {
	b := make([]byte, 0, deviceSize)
	return sha256.Sum256(d.append(append(b, tagDevice...)))
}

// normal returns d with its sets sorted; it does not change d.
func (d Device) normal() Device {
	d.Traits = sortedPairs(d.Traits)
	d.Compiler = sortedPairs(d.Compiler)
	return d
}

func (d Device) append(b []byte) []byte {
	d = d.normal()
	b = appendText(b, d.API)
	b = appendText(b, d.Platform)
	b = appendText(b, d.Name)
	b = appendText(b, d.Version)
	b = appendText(b, d.Driver)
	b = appendPairs(b, d.Traits)
	return appendPairs(b, d.Compiler)
}

func (r reader) device() (d Device) {
	d.API = r.text()
	d.Platform = r.text()
	d.Name = r.text()
	d.Version = r.text()
	d.Driver = r.text()
	d.Traits = r.pairs(comparePairs)
	d.Compiler = r.pairs(comparePairs)
	return d
}

func sortedPairs(p []Pair) []Pair {
	if slices.IsSortedFunc(p, comparePairs) {
		return p
	}
	p = slices.Clone(p)
	slices.SortFunc(p, comparePairs)
	return p
}

func comparePairs(a, b Pair) int {
	if c := strings.Compare(a.Name, b.Name); c != 0 {
		return c
	}
	return strings.Compare(a.Value, b.Value)
}

func appendPairs(b []byte, pairs []Pair) []byte {
	b = appendCount(b, len(pairs))
	for _, p := range pairs {
		b = appendText(b, p.Name)
		b = appendText(b, p.Value)
	}
	return b
}

// pairs reads pairs that are sorted by compare.
func (r reader) pairs(compare func(a, b Pair) int) []Pair {
	n := r.count(2 * prefixBytes)
	if n == 0 {
		return nil
	}
	pairs := make([]Pair, n)
	for i := range pairs {
		pairs[i] = Pair{r.text(), r.text()}
		if i > 0 && compare(pairs[i-1], pairs[i]) > 0 {
			r.Fail("pair %q is out of order", pairs[i].Name)
		}
	}
	return pairs
}
