// Package pty opens pseudo-terminals, for tests of what people see and send. There are
// none but on Linux.
package pty
