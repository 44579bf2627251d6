//go:build !nogpu

package runtimes

// Linked reports whether the runtimes can be reached.
const Linked = true
