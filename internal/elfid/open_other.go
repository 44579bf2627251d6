//go:build !linux

package elfid

import "os"

func openLibrary(path string) (*os.File, error) { return os.Open(path) }
