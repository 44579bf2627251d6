//go:build unix

package compile

// IsWrapper reports whether a file is a script that only starts a program.
func IsWrapper(path string) bool { return isWrapper(path) }
