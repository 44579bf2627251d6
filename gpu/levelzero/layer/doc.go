// Package layer answers an interposer between an application and its Level Zero driver
// (shim/levelzero, through capi/kernstash_front.h): for each module that the
// application makes of SPIR-V it says what native code to make it of, and takes what
// was built instead.
//
// It never calls a driver but to ask what a device is. Modules are made by the
// interposer, in frames of C; the core, which wants a runtime that makes programs, is
// given one that hands each step to the [Ticket] of the request and waits for what the
// interposer says of it. So keys, locks, coalescing and statistics are the very same as
// those of gpu/levelzero.
//
// What the disk tier has is served without all that, on the caller's own thread: a hit
// costs little more than reading the entry. Nothing is kept in memory once a module is
// made: each module of the application is an object of the driver's own.
package layer
