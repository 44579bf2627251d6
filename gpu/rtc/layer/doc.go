// Package layer answers an interposer between an application and its run-time
// compiler (shim/nvrtc and shim/hiprtc, through capi/kernstash_front.h): for each
// compile it says what would come of it, or takes what came of it.
//
// It calls no compiler. The core, which wants a runtime that makes programs, is given
// one that hands a build to the [Ticket] of the request and waits for what the
// interposer says of it. So keys, locks, coalescing and statistics are the very same
// as those of package rtc.
//
// What the disk tier has is served without all that, on the caller's own thread.
// Nothing is kept in memory: each program of the application is an object of its own.
package layer
