// Bare is a C library of Go with nothing in it: what a process waits for when it opens one.
package main

import "C"

//export Bare
func Bare() int { return 1 }

func main() {}
