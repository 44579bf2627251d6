package wrote

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"
)

func TestLook(t *testing.T) {
	n := 0
	Failed = func() { n++ }
	defer func() { Failed = nil }()
	for _, err := range []error{nil, io.EOF, syscall.ENOSPC} {
		if Look(err); n != 0 {
			t.Errorf("%v counts", err)
		}
	}
	Look(&os.PathError{Op: "write", Path: "x", Err: syscall.EFBIG})
	if Look(fmt.Errorf("trace: %w", syscall.EPIPE)); n != 2 {
		t.Errorf("%d of 2 writes", n)
	}
	Failed = nil
	Look(syscall.EPIPE)
}
