// Package pages makes large buffers whose memory is there at once. The system makes a page
// where it is touched first, one after the other: to read a megabyte of a file that is in
// memory into new pages takes 0.28 ms on a virtual machine, and 0.17 ms where they are made in
// one go.
package pages

import "bytes"

// least is the size from which on it is worth a system call.
const least = 64 << 10

// Make returns n bytes that are zero.
func Make(n int) []byte {
	b := make([]byte, n)
	if n >= least {
		touch(b)
	}
	return b
}

// Clone returns a copy of b; nil for nil.
func Clone(b []byte) []byte {
	if len(b) < least {
		return bytes.Clone(b)
	}
	own := Make(len(b))
	copy(own, b)
	return own
}
