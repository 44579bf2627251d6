package engine

import (
	"context"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/key"
)

// Host is asked for everything that the engine does not find out by itself. It is
// asked lazily, by whoever calls the engine and on their goroutine. Methods are called
// by many goroutines at once.
type Host interface {
	// Devices returns the number of devices, at most 64.
	Devices() int

	// Identify returns what decides how a device compiles. It is asked once a
	// device; an error makes the programs of the device uncacheable.
	Identify(ctx context.Context, device int) (key.Device, error)

	// Variables returns the environment variables that the compiler of a device
	// obeys now. An error makes the build uncacheable.
	Variables(device int) ([]key.Pair, error)

	// CheckOptions returns an error where the words of compile options make what
	// the compiler of a device builds uncacheable.
	CheckOptions(device int, words []string) error

	// HeaderSearch returns where the compiler of a device looks for header files
	// while dir is the working directory. Its Dir need not be set. An error makes
	// requests that read header files uncacheable. Hosts that answer alike for the
	// zero Request answer alike for each.
	HeaderSearch(device int, dir string, r Request) (deps.Search, error)

	// WorkingDirectory returns the working directory.
	WorkingDirectory() (string, error)

	// DefaultArithmetic reports whether the processor computes as threads do from
	// their start: compilers fold constants in the mode of their caller.
	DefaultArithmetic() bool

	// Delivery tells when there is an artifact of a job.
	Delivery(job Job) Delivery
}

// Job is one build: for one device, or for several of equal identity.
type Job struct {
	Devices []int       // ordinals, at least one
	Recipe  *key.Recipe // what to build; not to be changed
	Key     key.Key     // of the recipe; zero where what is built is not to be stored
}

// Delivery says when there is an artifact of a build.
type Delivery uint8

// The deliveries.
const (
	AtBuild   Delivery = iota // as soon as it is built
	AtLaunch                  // once its code was launched; see Deferral
	Elsewhere                 // another process makes it
)
