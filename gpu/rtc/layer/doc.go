// Package layer answers an interposer between an application and its run-time
// compiler (shim/nvrtc and shim/hiprtc, through capi/kernstash_front.h): for each
// compile it says what would come of it, or takes what came of it.
//
// It calls no compiler: it has the interposer's thread drive the engine, as
// kernstash.Context does. So keys, locks, coalescing and statistics are the very same as
// those of package rtc. Nothing is kept in memory: each program of the application is an
// object of its own.
package layer
