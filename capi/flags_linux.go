package main

// Kept apart, so that every file of the library is compiled alike.

// #cgo CFLAGS: -std=gnu11 -Wall -Wextra -Wno-unused-parameter -fexceptions
// #cgo LDFLAGS: -pthread -Wl,--wrap=pthread_getattr_np -Wl,--wrap=sigaction -Wl,--wrap=x_cgo_sys_thread_create -Wl,--wrap=x_cgo_init -Wl,--wrap=x_cgo_thread_start
import "C"
