package runlog

import "time"

// Kind is what a line tells of.
type Kind string

// The kinds of events.
const (
	Loaded Kind = "loaded" // a front end is in a process: FrontEnd
	Out    Kind = "out"    // a front end stays out of a process: Reason
	Asked  Kind = "asked"  // a program was asked for: all the other fields
	Job    Kind = "job"    // a recipe was left for the worker: Key, Label
)

// Outcome is how a request for a program ended.
type Outcome string

// The outcomes.
const (
	Memory   Outcome = "memory"   // a live program of this process
	Disk     Outcome = "disk"     // restored from an artifact
	Compiled Outcome = "compiled" // the driver's compiler built it, or part of it: Reason, Nearest
	Passed   Outcome = "passed"   // not asked of the cache: Reason
	Failed   Outcome = "failed"   // the compiler refused it
)

// Observed says what mode observe found, which serves nothing.
type Observed string

// What can be observed.
const (
	Equal     Observed = "equal"     // would have hit, and the build made the same artifact
	Different Observed = "different" // would have hit, and the build made another artifact
	Unknown   Observed = "unknown"   // would have hit, and the build's artifact is not at hand
)

// ReasonBinary is the Reason of a program that the application made of a binary
// it had kept itself.
const ReasonBinary = "binary"

// ReasonWanted is the Reason of a compiled unit that was found, and that the driver had to
// compile nevertheless: the application links libraries of its units, asks what is in them,
// or links them in a way that is not cached.
const ReasonWanted = "found, but wanted by itself: for a library, say"

// Event is one line of JSON, in which times are milliseconds, as everywhere in ours.
type Event struct {
	Kind     Kind   `json:"event"`
	PID      int    `json:"pid"`                // 0 in Write: this process
	FrontEnd string `json:"front_end,omitzero"` // "opencl-layer", "opencl-preload", "go", "c"
	Exe      string `json:"exe,omitzero"`       // path of the program, "" if not known

	Key     string  `json:"key,omitzero"`     // short form, "" if there is none
	Label   string  `json:"label,omitzero"`   // what people know the program by: kernel names, or its size
	Outcome Outcome `json:"outcome,omitzero"` // of Asked
	Reason  string  `json:"reason,omitzero"`  // why: of Out, Passed, Compiled, Failed
	Nearest string  `json:"nearest,omitzero"` // of Compiled: what differs from the nearest entry

	Observed Observed      `json:"observed,omitzero"` // in mode observe
	Spent    time.Duration `json:"-"`                 // on this request: compiling, or looking up and loading
	Saved    time.Duration `json:"-"`                 // recorded cost of the build less Spent; 0 if compiled, below if it was found before
	Bytes    int64         `json:"bytes,omitzero"`    // of the artifact
}
