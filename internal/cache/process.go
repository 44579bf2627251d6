package cache

import (
	"errors"
	"os"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/internal/arithmetic"
	"github.com/kernstash/kernstash/internal/engine"
)

// Process is what hosts of the engine answer alike: what the process is, and that their
// compilers make artifacts when they build.
type Process struct{}

// CheckOptions has nothing against any options.
func (Process) CheckOptions(int, []string) error { return nil }

// HeaderSearch says that it is not known where the compiler looks for header files.
func (Process) HeaderSearch(int, string, engine.Request) (deps.Search, error) {
	return deps.Search{}, errors.New("where the compiler looks for header files is not known")
}

// WorkingDirectory returns the process's.
func (Process) WorkingDirectory() (string, error) { return os.Getwd() }

// DefaultArithmetic reports whether the thread computes as threads do from their start.
func (Process) DefaultArithmetic() bool { return arithmetic.Default() }

// Delivery returns engine.AtBuild.
func (Process) Delivery(engine.Job) engine.Delivery { return engine.AtBuild }
