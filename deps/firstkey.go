package deps

import (
	"github.com/kernstash/kernstash/deps/flags"
	"github.com/kernstash/kernstash/deps/internal/digest"
	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/key"
)

// rules is the number of the rules by which files are found. It is raised when
// a unit is found to read files that were not found before, or something else is found out, so that manifests by
// the old rules are forgotten.
const rules = 6

// FirstKey returns the name of the manifest of a unit: a digest of everything
// that decides which files it reads, but those files. Versions of the format have
// names of their own, so none takes another's manifest away.
func FirstKey(device key.Digest, u key.Unit, words []string, s Search) key.Digest {
	d := digest.New("kernstash first key")
	d.Number(manifest.Version)
	d.Number(rules)
	d.Write(device[:])
	d.Unit(u)
	d.Texts(words)
	d.Text(s.Dir)
	d.Text(s.Main)
	d.Texts(s.First)
	d.Texts(s.Last)
	d.Texts(s.System)
	_, search, dirs, _ := flags.ParseSearch(words)
	path, quotes := s.path(dirs)
	d.Texts(search)
	d.Texts(path)
	d.Number(quotes)
	return d.Digest()
}
