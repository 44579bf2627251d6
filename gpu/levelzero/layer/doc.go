// Package layer answers an interposer between an application and its Level Zero driver
// (shim/levelzero, through capi/kernstash_front.h): for each module that the
// application makes of SPIR-V it says what native code to make it of, and takes what
// was built instead.
//
// It never calls a driver but to ask what a device is. Modules are made by the
// interposer, in frames of C, whose thread drives the engine, as a kernstash.Context does.
// So keys, locks, coalescing and statistics are the very same as those of gpu/levelzero.
// Nothing is kept in memory once a module is made: each module of the application is an
// object of the driver's own.
package layer
