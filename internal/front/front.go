// Package front is the library's end of the protocol by which front ends in C ask what to
// make of a program: capi/kernstash_front.h says what they ask, and when.
//
// An [Adapter] answers for a runtime. A [Server] is between it and C: it keeps the tickets,
// and what was answered for as long as C may read it, has waiting threads woken, and makes
// an answer of a panic.
package front

import (
	"time"

	"github.com/kernstash/kernstash/reason"
)

// Action is what a step asks of the front end.
type Action uint32

// The actions, with the numbers of kernstash_front.h.
const (
	Pass  Action = 0 // the driver builds; nobody asks how it ends
	Hit   Action = 1 // take what is stored, and say how it ended
	Build Action = 2 // have the driver build, and say how it ended
	Done  Action = 3 // the program is made
)

// Result says how it ended.
type Result uint32

// The results, with the numbers of kernstash_front.h.
const (
	Restored  Result = 1
	Refused   Result = 2
	Built     Result = 3
	Failed    Result = 4
	Abandoned Result = 5
)

// Directories that a process worked in (KSF_DIRECTORIES).
const (
	Settings = 1 << iota
	Moved
)

// Step is what follows for a request.
type Step struct {
	Action  Action
	Message Message       // of Hit and Build; what it holds is not to be changed
	Program uint64        // of Done: its number for later; 0: nobody wants to know
	Saved   time.Duration // of Done: what was counted as saved
}

// Request is a program that an application asks for. Its bytes are C's, for the call that
// it is given to.
type Request struct {
	What    uint32 // is to happen, by the numbers of the front end
	Thread  int    // the caller's, by any number
	Message Message
}

// Session is a request under way. Its methods may be called from any goroutine, one at a
// time, but End, which may be called at any time.
type Session interface {
	// Wait waits for d at most, and returns what there is to say; false: nothing yet.
	// After some time there is.
	Wait(d time.Duration) (Step, bool)

	// Next takes how it ended, and says what follows; false: Wait tells. The bytes of the
	// result are C's, for the call.
	Next(result Message) (Step, bool)

	// End ends it. Where Done was not said before nothing is known of the build.
	End()
}

// Adapter answers for a runtime.
type Adapter interface {
	// Begin begins a request. Where ok is false there is nothing to say yet, and the
	// session's Wait tells. There may be no session with Pass and Hit.
	Begin(r *Request) (s Session, step Step, ok bool)

	// Tell takes an event.
	Tell(what uint32, event Message)

	// Pass counts a request that is passed through.
	Pass(why reason.Reason, detail string)

	// Guard makes an error of a panic in f, and tells of it.
	Guard(f func() error) error
}
