// Command capi is libkernstash-go.so.1, which libkernstash.so.1 opens at its first call
// (entries.h). The script build makes both. kernstash.h says what they promise, docs/C.md how to use
// them.
//
// libkernstash.so.1 is C, in front: it refuses what makes no sense, keeps out of forked children,
// and holds what must outlive a call. Go decides, and is entered through front/enter.c alone.
package main

func main() {}
