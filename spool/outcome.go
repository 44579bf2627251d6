package spool

// JobState says how a job ended.
type JobState string

// The states.
const (
	JobStored    JobState = "stored"    // the cache has the artifact
	JobThere     JobState = "there"     // it had one as good before
	JobRefused   JobState = "refused"   // it will not be done: Reason says why
	JobFailed    JobState = "failed"    // it was not done, though it was once: it is tried again, later
	JobVoid      JobState = "void"      // there is nothing to do any more
	JobElsewhere JobState = "elsewhere" // it cannot be done here, but may be elsewhere, or later
)

// Outcome is what became of a job. It is what a building process says at its end;
// one that says nothing crashed.
type Outcome struct {
	State  JobState `json:"state"`
	Reason string   `json:"reason,omitempty"`

	// Missing says that what is not here is the device or its driver: a machine that
	// has them can do the job.
	Missing bool `json:"missing,omitempty"`

	// Left are launches of a job that was done for the others: the driver makes
	// no code for them ahead of time.
	Left []string `json:"left,omitempty"`
}
