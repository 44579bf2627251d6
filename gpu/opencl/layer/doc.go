// Package layer answers a layer between an application and its OpenCL driver
// (shim/opencl, through capi/kernstash_front.h): for each program that the
// application builds it says what to restore it from, and takes what was built
// instead.
//
// It never calls a driver but to ask what a device is. Programs are made by the
// layer itself, in frames of C; the core, which wants a runtime that makes
// programs, is given one that hands each step to the [Ticket] of the request and
// waits for what the layer says of it. So keys, locks, coalescing, header files
// and statistics are the very same as those of gpu/opencl.
//
// What the disk tier has is served without all that (see glance): a hit costs
// little more than reading the entry.
//
// Nothing is kept in memory once a program is made: each cl_program of the
// application needs an object of the driver's own.
package layer
