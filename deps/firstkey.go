package deps

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/kernstash/kernstash/deps/flags"
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
	d := newDigest("kernstash first key")
	d.number(manifestVersion)
	d.number(rules)
	d.Write(device[:])
	d.unit(u)
	d.texts(words)
	d.text(s.Dir)
	d.text(s.Main)
	d.texts(s.First)
	d.texts(s.Last)
	d.texts(s.System)
	_, search, dirs, _ := flags.ParseSearch(words)
	path, quotes := s.path(dirs)
	d.texts(search)
	d.texts(path)
	d.number(quotes)
	return d.sum()
}

// unitDigest is of a unit without its header files.
func unitDigest(u key.Unit) key.Digest {
	d := newDigest("kernstash unit before its files")
	d.unit(u)
	return d.sum()
}

// digest hashes numbers and texts, which all have their length in front.
type digest struct{ hash.Hash }

func newDigest(tag string) digest {
	d := digest{sha256.New()}
	d.Write(append([]byte(tag), 0))
	return d
}

func (d digest) number(n int) {
	d.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
}

func (d digest) text(s string) {
	d.number(len(s))
	d.Write([]byte(s))
}

func (d digest) texts(list []string) {
	d.number(len(list))
	for _, s := range list {
		d.text(s)
	}
}

func (d digest) unit(u key.Unit) {
	d.number(int(u.Kind))
	d.number(len(u.Code))
	d.Write(u.Code)
	d.number(len(u.Headers))
	for _, h := range u.Headers {
		d.text(h.Name)
		d.number(len(h.Content))
		d.Write(h.Content)
	}
}

func (d digest) sum() key.Digest { return key.Digest(d.Sum(nil)) }
