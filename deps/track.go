package deps

import (
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
)

// Search says where a compiler looks for header files.
type Search struct {
	Dir    string   // the working directory, absolute
	System []string // directories that the compiler searches behind those of the options, absolute
}

// Tracking is what a translation unit reads, as it was when it was tracked.
type Tracking struct {
	Unit     key.Unit              // the unit with Includes and Files, and Dir where paths matter
	Contents map[key.Digest][]byte // of the header files, by digest
	Manifest *Manifest             // what has to be the same for Unit to be still right
}

// Track finds the header files that a unit reads, and the names that it looks
// for in vain. words are the compile options (see [key.Tokens]).
func Track(u key.Unit, words []string, s Search) (*Tracking, Reason) {
	return nil, Reason{stats.NotCacheableHeaders, "header files"}
}

// FirstKey returns the name of the manifest of a unit: a digest of everything
// that decides which files it reads, but those files.
func FirstKey(device key.Digest, u key.Unit, words []string, s Search) key.Digest {
	return key.Digest{}
}
