//go:build !linux && !darwin && !windows

package safefs

import "os"

// supported is false, so that no root is ever opened.
const supported = false

func infoOf(*os.File) (Info, error) { return Info{}, ErrUnsupported }
