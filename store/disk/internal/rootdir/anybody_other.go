//go:build !linux

package rootdir

// isAnybody is false: there are no user namespaces here.
func isAnybody(uint32) bool { return false }
