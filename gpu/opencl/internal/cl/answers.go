package cl

import (
	"bytes"
	"encoding/binary"
)

// Text reads a string that a driver gave; an error makes it empty, as a query
// that a driver does not know is not a failure of what asks.
func Text(b []byte, err error) string {
	if err != nil {
		return ""
	}
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(bytes.TrimSpace(b))
}

// Number reads an unsigned integer of 4 or 8 bytes; ok is false where the
// driver did not give one.
func Number(b []byte, err error) (n uint64, ok bool) {
	switch {
	case err != nil:
		return 0, false
	case len(b) == 4:
		return uint64(binary.NativeEndian.Uint32(b)), true
	case len(b) == 8:
		return binary.NativeEndian.Uint64(b), true
	}
	return 0, false
}

// Numbers reads an array of size_t or of handles.
func Numbers(b []byte, err error) []uintptr {
	if err != nil {
		return nil
	}
	var w []uintptr
	for ; len(b) >= 8; b = b[8:] {
		w = append(w, uintptr(binary.NativeEndian.Uint64(b)))
	}
	return w
}
