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
// #include "start.h"
// extern char **environ;
import "C"

import (
	"errors"
	"fmt"
	"runtime/cgo"
	"unsafe"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/elevated"
	"github.com/kernstash/kernstash/internal/flight"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/internal/writesignal"
	"github.com/kernstash/kernstash/store"
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

func init() { dl.SetEnviron(uintptr(unsafe.Pointer(&C.environ))) }

// inputs returns what settings are read from: the environment as the host has it now.
func inputs() settings.Inputs {
	if elevated.Now() {
		return settings.Inputs{} // settings take nothing from the environment then
	}
	return settings.Inputs{Environ: append([]string{}, dl.Environ()...)}
}

// statusError is an error with the status that C gets for it.
type statusError struct {
	status C.int
	error
}

func (e *statusError) Unwrap() error { return e.error }

func withStatus(status C.int, err error) error {
	if err == nil {
		return nil
	}
	return &statusError{status, err}
}

// answering returns the entry that f does, with a T that begins with a ks_call.
func answering[T any](f func(*T) error) func(unsafe.Pointer) {
	return func(arg unsafe.Pointer) { answer((*C.ks_call)(arg), func() error { return f((*T)(arg)) }) }
}

// answer runs what a call of C asks for, and writes how it ended. A panic is an
// error of this call, and of no other.
func answer(c *C.ks_call, f func() error) {
	defer func() {
		if v := recover(); v != nil {
			writeStatus(c, withStatus(C.KERNSTASH_INTERNAL, fmt.Errorf("panic: %v", v)))
		}
	}()
	writeStatus(c, f())
}

func writeStatus(c *C.ks_call, err error) {
	c.status = statusOf(err)
	if err != nil {
		writeText(c.detail[:], err.Error())
	}
}

// writeText writes a C string, cut where it is too long.
func writeText(to []C.char, text string) {
	n := copy(unsafe.Slice((*byte)(unsafe.Pointer(&to[0])), len(to)-1), text)
	to[n] = 0
}

func statusOf(err error) C.int {
	var own *statusError
	switch {
	case err == nil:
		return C.KERNSTASH_OK
	case errors.As(err, &own):
		return own.status
	case errors.Is(err, kernstash.ErrClosed):
		return C.KERNSTASH_CLOSED
	case errors.Is(err, flight.ErrCycle):
		return C.KERNSTASH_CYCLE
	case errors.Is(err, store.ErrNotFound), errors.Is(err, kernstash.ErrNotCacheable):
		return C.KERNSTASH_NOT_FOUND
	case errors.Is(err, kernstash.ErrInvalid):
		return C.KERNSTASH_INVALID
	}
	return C.KERNSTASH_INTERNAL
}

// object returns what a handle stands for. A handle that is not one of ours
// panics, which answer makes an error of.
func object[T any](h C.uintptr_t) T { return cgo.Handle(h).Value().(T) }

// view returns C's bytes without copying them: for the length of a call.
func view(b C.ks_buffer) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(b.data)), int(b.size))
}
