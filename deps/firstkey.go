package deps

import (
	"crypto/sha256"
	"fmt"

	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/key"
)

// rules is the number of the rules by which files are found. It is raised when
// a unit is found to read files that were not found before, or something else is found out, so that manifests by
// the old rules are forgotten.
const rules = 7

// FirstKey returns the name of the manifest of a unit: a digest of everything
// that decides which files it reads, but those files. Versions of the format have
// names of their own, so none takes another's manifest away.
func FirstKey(device key.Digest, u key.Unit, words []string, s Search) key.Digest {
	u.Includes, u.Files, u.Dir = nil, nil, ""
	return sha256.Sum256(fmt.Appendf(nil, "kernstash first key\x00%d %d %x %x %q %q %q %q %q %q",
		manifest.Version, rules, device, u.Digest(), words, s.Dir, s.Main, s.First, s.Last, s.System))
}
