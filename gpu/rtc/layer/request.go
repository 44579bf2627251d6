package layer

import (
	"time"

	"github.com/kernstash/kernstash/gpu/rtc"
)

// Request is a compile that an application asks for. Its bytes may be C's during the
// call that it is given to.
type Request struct {
	API          rtc.API
	Compile      uintptr // the library's CompileProgram
	Major, Minor int     // of its version
	Program      rtc.Request
}

// Action is what a reply asks of the interposer.
type Action uint32

// The actions, with the numbers of kernstash_rtc.h.
const (
	Pass  Action = 0 // the compiler compiles; nobody asks how it ends
	Serve Action = 1 // this is what would come of it
	Build Action = 2 // the compiler compiles, and Done is told how it ended
)

// Reply answers a request. What it holds is not to be changed.
type Reply struct {
	Action Action
	Output *rtc.Output // of Serve
	Reason string      // of Pass
}

// Result says how a compile ended.
type Result uint32

// The results, with the numbers of kernstash_rtc.h.
const (
	Built     Result = 1
	Failed    Result = 2 // the compiler refused the program
	Abandoned Result = 3 // any other failure, which says nothing of the program
)

// Outcome is how a compile ended.
type Outcome struct {
	Result Result
	Code   int
	Took   time.Duration
	Log    string      // of Failed
	Output *rtc.Output // of Built, in memory of its own
}
