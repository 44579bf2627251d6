//go:build !nogpu

package opencl

// Noting is Launch; it returns the name of the variant that the launch is the
// first of, else "".
func (k *Kernel) Noting(q *Queue, r Range, args ...any) (string, error) {
	return k.enqueue(q, r, nil, args)
}

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
