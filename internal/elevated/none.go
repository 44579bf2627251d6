//go:build !linux && !darwin

package elevated

// atStart is false: on Windows a process has the rights of its token, whoever started it.
func atStart() bool { return false }
