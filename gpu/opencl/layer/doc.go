// Package layer answers a layer between an application and its OpenCL driver
// (shim/opencl, through capi/kernstash_front.h): for each program that the
// application builds it says what to restore it from, and takes what was built
// instead.
//
// It never calls a driver but to ask what a device is. Programs are made by the
// layer itself, in frames of C. An [inprocess.Ticket] drives a transaction of the
// engine for each request, on the thread of its caller; only a search for header
// files has a goroutine of its own. So keys, locks, coalescing, header files and statistics are
// the very same as those of gpu/opencl.
//
// Nothing is kept in memory once a program is made: each cl_program of the
// application needs an object of the driver's own.
package layer
