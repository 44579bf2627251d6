package guest

import (
	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/store"
)

// Native is what the core holds for a live program of a door: what whoever asks for the same
// program at the same time is served with. It is one type for all doors, since each has
// a core made of it, with tables that a process would relocate when it loads the library.
type Native struct {
	Job      kernstash.Job
	Artifact *store.Artifact // nil: there is none, or not yet
	Output   any             // what a door has besides
}
