package job

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/kernstash/kernstash/store"
)

// TestTroubleThatPasses: a job is not refused because the disk is full.
func TestTroubleThatPasses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{fmt.Errorf("put: %w", &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}), true},
		{&fs.PathError{Op: "mkdir", Path: "x", Err: syscall.EDQUOT}, true},
		{syscall.EMFILE, true},
		{nil, false},
		{errDiagnostic, false},
		{fmt.Errorf("put: %w", store.ErrTooLarge), false},
		{errors.New("no launch of it was seen"), false},
		{fs.ErrNotExist, false},
	} {
		if got := passes(tt.err); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.err, got, tt.want)
		}
	}
}
