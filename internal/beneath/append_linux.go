package beneath

import (
	"io"

	"golang.org/x/sys/unix"
)

// Append writes all of b behind the end of the file, in one piece with regard to others
// who append. It is [errors.ErrUnsupported] where the system cannot.
func (f File) Append(b []byte) error {
	if err := f.own(); err != nil {
		return pathError("append", "file", err)
	}
	return pathError("append", "file", f.hook.do(OpAppend, func() error {
		n, err := unix.Pwritev2(f.fd-1, [][]byte{b}, 0, unix.RWF_APPEND)
		if err == nil && n < len(b) {
			err = io.ErrShortWrite
		}
		return err
	}))
}
