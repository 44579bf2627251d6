package engine

import (
	"bytes"
	"slices"

	"github.com/kernstash/kernstash/store"
)

// verdict is what comparing two artifacts of one key says.
type verdict string

const (
	equal        verdict = "equal"
	different    verdict = "different"
	incomparable verdict = "incomparable"
)

// compare compares the forms that two artifacts have in common. Those of a driver that
// makes code at launches say something only if they are ready for the same launches.
func compare(a, b *store.Artifact) verdict {
	v := incomparable
	for _, one := range a.Binaries {
		for _, other := range b.Binaries {
			if one.Form != other.Form || one.Form == store.FormDeferred && !slices.Equal(a.Variants, b.Variants) {
				continue
			}
			if !bytes.Equal(one.Data, other.Data) {
				return different
			}
			v = equal
		}
	}
	return v
}
