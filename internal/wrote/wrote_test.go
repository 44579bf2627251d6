package wrote

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"
)

func TestLook(t *testing.T) {
	for _, err := range []error{nil, io.EOF, syscall.ENOSPC} {
		if Look(err); Failed() {
			t.Errorf("%v counts", err)
		}
	}
	for _, err := range []error{&os.PathError{Op: "write", Path: "x", Err: syscall.EFBIG}, fmt.Errorf("trace: %w", syscall.EPIPE)} {
		failed.Store(false)
		if Look(err); !Failed() {
			t.Errorf("%v does not count", err)
		}
	}
}
