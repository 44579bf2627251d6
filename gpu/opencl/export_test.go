//go:build !nogpu

package opencl

import "github.com/kernstash/kernstash/key"

// Noting is Launch; it returns the name of the variant that the launch is the
// first of, else "".
func (k *Kernel) Noting(q *Queue, r Range, args ...any) (string, error) {
	return k.enqueue(q, r, nil, args)
}

// HasOption is hasOption.
var HasOption = hasOption

// AppendArg is appendArg.
var AppendArg = appendArg

// ObeysIn returns the variables of an environment that the platform's compiler
// obeys.
func (p *Platform) ObeysIn(environ []string) (names []string) {
	for _, pair := range p.rules().Of(environ) {
		names = append(names, pair.Name+"="+pair.Value)
	}
	return names
}

// Against is Device.AgainstOptions of a device of the platform.
func (p *Platform) Against(words ...string) error {
	return (&Device{platform: p}).AgainstOptions(words)
}

// ParseProcessor is parseProcessor.
var ParseProcessor = parseProcessor

// HoldLaunches keeps captures out, as a launch does that is being queued, until
// what it returns is called.
func HoldLaunches() (release func()) {
	deferredLaunches.mu.RLock()
	return deferredLaunches.mu.RUnlock
}

// CountLaunch counts a launch.
func CountLaunch() { deferredLaunches.launches.Add(1) }

// Unshared is unshared.
var Unshared = unshared

// PoCLFiles returns the digest of what a PoCL compiles with whose library is at a path, in an
// environment, and a function that says whether that is still so, in another environment.
func PoCLFiles(library string, environ []string) (pairs []key.Pair, steady func(environ []string) error, err error) {
	f := new(poclFiles)
	pairs, err = f.find(library, environ)
	return pairs, f.steady, err
}

// ReadsIn returns an error that names what has the platform's compiler read files, in an
// environment.
func (p *Platform) ReadsIn(environ []string) error { return p.rules().Obeyed(environ) }

// AgainstRandomName is Device.Repeatable of a device of the platform whose driver has a version,
// for its error.
func (p *Platform) AgainstRandomName(code []byte, driver string) error {
	_, _, err := (&Device{platform: p, Driver: driver}).Repeatable(code, nil)
	return err
}

// Words returns the words of options.
var Words = key.Tokens
