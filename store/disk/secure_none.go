//go:build !linux

package disk

func secureMode() bool { return false }
