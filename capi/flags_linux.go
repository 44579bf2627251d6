package main

// Kept apart, so that every file of the library is compiled alike.

// #cgo CFLAGS: -std=gnu11 -Wall -Wextra -Wno-unused-parameter -fexceptions -fvisibility=hidden
// #cgo LDFLAGS: -pthread -Wl,--wrap=pthread_create -Wl,--wrap=sigaction
import "C"
