//go:build !linux && !darwin && !windows

package lock

import "github.com/kernstash/kernstash/internal/safefs"

func Try(safefs.File, int64, int64) error     { return ErrUnsupported }
func Release(safefs.File, int64, int64) error { return ErrUnsupported }
