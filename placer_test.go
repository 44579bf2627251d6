package kernstash_test

import (
	"path/filepath"
	"testing"

	"github.com/kernstash/kernstash/key"
)

// A link option that looks like a word of package rtc's is an option like all others where
// the Runtime is another one: it is in the key, and the build gets it in its place.
func TestLinkOptionsLikePlaces(t *testing.T) {
	t.Parallel()
	for _, kind := range []key.Kind{key.Opaque, key.PTX, key.OpenCLC, key.CUDACpp, key.HIPCpp} {
		for _, word := range []string{"place=", "parent=", "name=", "expression=", "directory="} {
			root := filepath.Join(t.TempDir(), "root")
			for _, value := range []string{"near", "far"} {
				a := ask{device: key.Device{API: "own"}, units: []key.Unit{{Kind: kind, Code: []byte("void k() {}\n")}}}
				a.request.LinkOptions = "-first " + word + value + " -last"
				recipe := a.compiles(t, root)
				if recipe == nil {
					t.Errorf("%v: %s%s is not compiled", kind, word, value)
				} else if o := recipe.Options; o.LinkString() != a.request.LinkOptions || len(o.Search) > 0 {
					t.Errorf("%v: the build of %q gets %q and %q", kind, a.request.LinkOptions, o.LinkString(), o.Search)
				}
			}
		}
	}
}
