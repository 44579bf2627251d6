//go:build !unix

package safefs

import "os"

// ReadSystem is os.ReadFile.
func ReadSystem(path string) ([]byte, error) { return os.ReadFile(path) }
