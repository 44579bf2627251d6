//go:build unix

package compile

import (
	"io"
	"os"

	"github.com/kernstash/kernstash/internal/pattern"
)

// wrapper is a script of the shell that starts one program by its path, with words that the shell takes as they are and
// with all that it is given: it does nothing that depends on anything but its text. Host compilers that come without
// their directories are wrapped so.
var wrapper = pattern.Lazy(`\A#!/bin/sh\n([ \t]*(#[^\n]*)?\n)*exec /[A-Za-z0-9_./+,:=@-]+( [A-Za-z0-9_./+,:=@-]+)* "\$@"\n?([ \t]*(#[^\n]*)?\n)*\z`)

const maxWrapper = 4 << 10 // bytes

// isWrapper reports whether the file at path is such a script.
func isWrapper(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxWrapper+1))
	return err == nil && len(text) <= maxWrapper && wrapper().Match(text)
}
