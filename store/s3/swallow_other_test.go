//go:build !linux

package s3_test

import (
	"io"
	"net"
	"testing"
)

// swallow returns an address where nobody answers.
func swallow(t *testing.T) string {
	return listen(t, func(c net.Conn) { io.Copy(io.Discard, c) })
}
