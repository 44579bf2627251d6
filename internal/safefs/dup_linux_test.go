//go:build linux

package safefs_test

import "golang.org/x/sys/unix"

func dup(from, to int) error { return unix.Dup3(from, to, unix.O_CLOEXEC) }
