package flight

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// PanicError is what a panic in a build becomes for everyone who waits for it.
type PanicError struct {
	Value any    // what was passed to panic
	Stack []byte // of the goroutine that panicked
}

func (e *PanicError) Error() string { return fmt.Sprintf("panicked: %v", e.Value) }

// Unwrap returns the value of the panic if it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// ErrGoexit says that a build ended its goroutine instead of returning.
var ErrGoexit = errors.New("build called runtime.Goexit")

// IsPanic says whether a build panicked or ended its goroutine: no error of that
// kind is kept, whatever else it says.
func IsPanic(err error) bool {
	if errors.Is(err, ErrGoexit) {
		return true
	}
	var p *PanicError
	return errors.As(err, &p)
}

// Guard makes a *PanicError of a panic in f.
func Guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}
