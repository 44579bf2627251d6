//go:build !linux && !darwin

package deps

import "errors"

// Files cannot be told apart here as it is done elsewhere, so no header file is
// tracked.

func look(string) (kind, stamp, error) { return nothing, stamp{}, errors.ErrUnsupported }

func lookAt(string) (kind, error) { return nothing, errors.ErrUnsupported }

func lookWay(string) way { return way{} }

func read(string, int64) ([]byte, stamp, error) { return nil, stamp{}, errors.ErrUnsupported }
