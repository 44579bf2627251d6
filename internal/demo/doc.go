// Package demo holds a handful of OpenCL C programs that differ in what they
// compute and in what they cost to compile, and checks what they compute
// against Go each time they run.
//
// It knows no runtime: a [Machine] builds and launches for it.
package demo
