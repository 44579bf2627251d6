package key

import (
	"cmp"
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
	return strings.TrimRight(strings.Join([]string{d.Platform, d.Name, d.Version, d.Driver}, " / "), " /") // compilers have no driver
}

// Digest returns the device component of a key. Traits and Compiler count as
// sets: their order does not matter.
func (d Device) Digest() Digest {
	c := newCoder(tagDevice)
	d = d.normal()
	c.device(&d)
	return sha256.Sum256(c.b)
}

// normal returns d with its sets sorted; it does not change d.
func (d Device) normal() Device {
	d.Traits = sorted(d.Traits, comparePairs)
	d.Compiler = sorted(d.Compiler, comparePairs)
	return d
}

// device codes a device that is normal.
func (c *coder) device(d *Device) {
	for _, s := range []*string{&d.API, &d.Platform, &d.Name, &d.Version, &d.Driver} {
		c.text(s)
	}
	c.pairs(&d.Traits, comparePairs)
	c.pairs(&d.Compiler, comparePairs)
}

// sorted returns pairs in the order of compare; it does not change p.
func sorted(p []Pair, compare func(a, b Pair) int) []Pair {
	if slices.IsSortedFunc(p, compare) {
		return p
	}
	return slices.SortedStableFunc(slices.Values(p), compare)
}

func comparePairs(a, b Pair) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Value, b.Value))
}

// pairs codes pairs that are sorted by compare.
func (c *coder) pairs(all *[]Pair, compare func(a, b Pair) int) {
	ascending := func(a, b *Pair) bool { return compare(*a, *b) <= 0 }
	list(c, all, 2*prefixBytes, ascending, func(c *coder, p *Pair) {
		c.text(&p.Name)
		c.text(&p.Value)
	})
}
