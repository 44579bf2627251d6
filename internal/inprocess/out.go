package inprocess

import (
	"errors"
	"fmt"

	"github.com/kernstash/kernstash/internal/elevated"
)

// ErrOut is wrapped where the cache is to stay out of the process.
var ErrOut = errors.New("the cache stays out of this process")

// MayStay returns an error that wraps ErrOut where the process has rights that its user
// has not, or too little address space left.
func MayStay() error {
	if elevated.Now() {
		return fmt.Errorf("%w: it has rights that its user has not", ErrOut)
	}
	if err := enoughAddresses(); err != nil {
		return fmt.Errorf("%w: %w", ErrOut, err)
	}
	return nil
}
