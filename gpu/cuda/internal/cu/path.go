package cu

import (
	"errors"
	"fmt"

	"github.com/kernstash/kernstash/internal/elfid"
)

// errPath is wrapped where the system does not say which file the library is.
var errPath = errors.New("the file of libcuda.so.1 is not known")

// Path returns the file of the driver's library, links followed.
func Path() (string, error) {
	f, err := cuInit.find()
	if err != nil {
		return "", err
	}
	if m, ok := elfid.Loaded().Find(uintptr(f)); ok && m.Path != "" {
		return m.Path, nil
	}
	return "", fmt.Errorf("look for it in the process's memory: %w", errPath)
}
