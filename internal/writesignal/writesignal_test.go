package writesignal

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"
)

func TestNote(t *testing.T) {
	for _, err := range []error{nil, io.EOF, syscall.ENOSPC} {
		if Note(err); Noted() {
			t.Errorf("%v counts", err)
		}
	}
	for _, err := range []error{&os.PathError{Op: "write", Path: "x", Err: syscall.EFBIG}, fmt.Errorf("trace: %w", syscall.EPIPE)} {
		failed.Store(false)
		if Note(err); !Noted() {
			t.Errorf("%v does not count", err)
		}
	}
}
