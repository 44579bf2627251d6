package layer

import (
	"time"

	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/front"
)

// Request is a compile that an application asks for. Its bytes may be C's during the
// call that it is given to.
type Request struct {
	API          rtc.API
	Compile      uintptr // the library's CompileProgram
	Major, Minor int     // of its version
	Program      rtc.Request
}

// Outcome is how a compile ended.
type Outcome struct {
	Result front.Result
	Took   time.Duration
	Output *rtc.Output // of Built, in memory of its own
}
