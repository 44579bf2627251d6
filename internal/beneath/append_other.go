//go:build !linux

package beneath

import "errors"

// Append writes all of b behind the end of the file, in one piece with regard to others
// who append. It is [errors.ErrUnsupported] where the system cannot.
func (f File) Append([]byte) error { return pathError("append", "file", errors.ErrUnsupported) }
