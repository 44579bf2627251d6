//go:build !linux

package layer

// enoughAddresses says whether Go can go on in this process.
func enoughAddresses() error { return nil }
