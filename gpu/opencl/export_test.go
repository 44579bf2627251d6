//go:build !nogpu

package opencl

import (
	"github.com/kernstash/kernstash/gpu/opencl/pocl"
	"github.com/kernstash/kernstash/internal/drivers"
)

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

// Against is Device.CheckOptions of a device of the platform.
func (p *Platform) Against(words ...string) error {
	return (&Device{platform: p}).CheckOptions(words)
}

// HoldLaunches keeps captures out, as a launch does that is being queued, until
// what it returns is called.
func HoldLaunches() (release func()) {
	queuing, end, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		_ = pocl.Driver{}.Launch(func() error {
			close(queuing)
			<-end
			return nil
		})
	}()
	<-queuing
	return func() {
		close(end)
		<-done
	}
}

// CountLaunch counts a launch.
func CountLaunch() { _ = pocl.Driver{}.Launch(func() error { return nil }) }

// ReadsIn returns an error that names what has the platform's compiler read files, in an
// environment.
func (p *Platform) ReadsIn(environ []string) error { return p.rules().Obeyed(environ) }

// AgainstRandomName is Device.Repeatable of a device of the platform whose driver has a version,
// for its error.
func (p *Platform) AgainstRandomName(code []byte, version string) error {
	p.env = drivers.Environments{Now: func() []string { return nil }}
	_, _, err := (&Device{platform: p, Driver: version}).Repeatable(code, nil)
	return err
}
