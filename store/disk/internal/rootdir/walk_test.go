//go:build linux

package rootdir

import (
	"errors"
	"syscall"
	"testing"
)

// TestPassOver: what a directory that cannot be opened means for a walk.
func TestPassOver(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]struct{ full, told, partial, fails bool }{
		syscall.ENOENT:  {},
		syscall.ESTALE:  {},
		syscall.ENOTDIR: {full: true, told: true},
		syscall.ELOOP:   {full: true, told: true},
		syscall.EACCES:  {full: true, told: true},
		syscall.EIO:     {full: true, told: true, partial: true},
		syscall.EMFILE:  {full: true, fails: true},
		syscall.ENOMEM:  {full: true, fails: true},
	} {
		told := false
		w := Walker{Passed: func(string, error) { told = true }}
		full, got := w.passOver(LeafNames{"a"}, 1, err)
		if full != want.full || told != want.told || w.Partial != want.partial || errors.Is(got, err) != want.fails {
			t.Errorf("%v: full %v, told %v, partial %v, %v; want %+v", err, full, told, w.Partial, got, want)
		}
	}
}
