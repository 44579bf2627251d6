// Package inputs holds the test that makes the lists of docs/INPUTS.md again: what the compilers
// of the runtimes read.
package inputs
