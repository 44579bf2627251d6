//go:build !linux

package deps

func populate([]byte) {}
