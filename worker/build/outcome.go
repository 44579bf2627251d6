package build

// State says how a job ended.
type State string

// The states.
const (
	Stored    State = "stored"    // the cache has the artifact
	There     State = "there"     // it had one as good before
	Refused   State = "refused"   // it will not be done: Reason says why
	Failed    State = "failed"    // it was not done, though it was once: it is tried again, later
	Void      State = "void"      // there is nothing to do any more
	Elsewhere State = "elsewhere" // it cannot be done here, but may be elsewhere, or later
)

// Outcome is what became of a job. It is what a building process says at its end;
// one that says nothing crashed.
type Outcome struct {
	State  State  `json:"state"`
	Reason string `json:"reason,omitempty"`

	// Missing says that what is not here is the device or its driver: a machine that
	// has them can do the job.
	Missing bool `json:"missing,omitempty"`

	// Left are launches of a job that was done for the others: the driver makes
	// no code for them ahead of time.
	Left []string `json:"left,omitempty"`
}
