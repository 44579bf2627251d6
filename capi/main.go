// Command capi is libkernstash.so.1, the C door of kernstash: kernstash.h says
// what it promises, docs/C.md how to use it. It is built by
//
//	go build -buildmode=c-shared
//
// with the flags that internal/cbuild and the Makefile's target lib share.
//
// What the host calls is C (*.c here): it refuses what makes no sense, keeps
// out of forked children, and holds what must outlive a call. Go decides, and is
// entered through ks_enter alone.
package main

func main() {}
