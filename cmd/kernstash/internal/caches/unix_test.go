//go:build unix

package caches

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestPipe: nobody is waited for.
func TestPipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Skip("no pipe can be made in the directory of the test: ", err)
	}
	write(t, filepath.Join(dir, "file"), "x", day)
	if got := scan(t, dir, true, Usual); got.Files != 1 || got.Portable.Looked != 1 || got.Error != "" {
		t.Errorf("%+v", got)
	}
}
