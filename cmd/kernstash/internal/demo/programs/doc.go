// Package programs holds a handful of programs that differ in what they compute and in
// what they cost to compile, each in OpenCL C, in CUDA C++ and in SPIR-V, and checks
// what they compute against Go each time they run.
//
// It knows no runtime: a [Machine] builds and launches for it.
package programs
