package engine

import (
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// AtOnce is the Reason of what was built while another thread of the process built it.
const AtOnce = "another thread was building it"

// building is a build under way in the process that equal requests share. What came of it is
// set before done is closed.
type building struct {
	key  key.Key
	done chan struct{}

	ended    bool            // it was built, or failed; else it was given up
	artifact *store.Artifact // for others; nil: there is none
	err      error           // of the compiler
}
