//go:build linux

package main

// #include "entries.h"
import "C"

import (
	"unsafe"

	"github.com/kernstash/kernstash/internal/writesignal"
)

// asked are the functions that libkernstash.so.1 calls, in the thread of its caller. Each
// gets a pointer to the structure that entries.h says.
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
