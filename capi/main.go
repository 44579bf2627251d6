//go:build linux

// Command capi is libkernstash-go.so.1, which libkernstash.so.1 opens at its first call
// (internal.h). The script build makes both. kernstash.h says what they promise, docs/C.md how to use
// them.
//
// libkernstash.so.1 is C, in front: it refuses what makes no sense, keeps out of forked children,
// and holds what must outlive a call. Go decides, and is entered through front/enter.c alone.
package main

// #cgo CFLAGS: -std=gnu11 -Wall -Wextra -Wno-unused-parameter -fexceptions -fvisibility=hidden
// #cgo LDFLAGS: -pthread -Wl,--wrap=pthread_create -Wl,--wrap=sigaction
// #include "internal.h"
import "C"

import (
	"unsafe"

	"github.com/kernstash/kernstash/internal/writesignal"
)

func main() {}

// asked are the functions that libkernstash.so.1 calls, in the thread of its caller. Each
// gets a pointer to the structure that internal.h says.
var asked = [C.ks_entries]func(unsafe.Pointer){
	C.ks_go_open:     answering(cacheOpen),
	C.ks_go_close:    answering(cacheClose),
	C.ks_go_release:  answering(cacheRelease),
	C.ks_go_flush:    answering(cacheFlush),
	C.ks_go_stats:    answering(cacheStats),
	C.ks_go_counter:  answering(cacheCounter),
	C.ks_go_device:   answering(deviceOpen),
	C.ks_go_find:     answering(lookupFind),
	C.ks_go_populate: answering(lookupPopulate),
	C.ks_go_refuse:   answering(lookupRefuse),
	C.ks_go_forget:   answering(lookupForget),
	C.ks_go_begin:    answering(buildBegin),
	C.ks_go_finish:   answering(buildFinish),

	C.ksf_go_open:  frontOpen,
	C.ksf_go_begin: frontBegin,
	C.ksf_go_next:  frontNext,
	C.ksf_go_wait:  frontWait,
	C.ksf_go_end:   frontEnd,
	C.ksf_go_tell:  frontTell,
}

// ks_go_call does an entry, and reports whether a write of ours has failed, at some time.
//
//export ks_go_call
func ks_go_call(entry C.int, argument unsafe.Pointer) C.bool {
	asked[entry](argument)
	return C.bool(writesignal.Noted())
}
