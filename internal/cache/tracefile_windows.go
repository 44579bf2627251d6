package cache

import "os"

// openTrace opens the file that the trace is appended to.
func openTrace(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
}
