//go:build !linux

package worker

// CloseInherited does nothing where it is not known what Go's runtime has opened.
func CloseInherited(int) {}
