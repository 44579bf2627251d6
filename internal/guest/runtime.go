package guest

import (
	"context"
	"errors"
	"fmt"

	"github.com/kernstash/kernstash"
)

// Core is the core's context for a host, whose programs are described by P.
type Core[P any] = kernstash.Context[P, struct{}]

// NewCore returns one that keeps nothing in memory, since each program of the host is an
// object of its own. decided is told what became of the requests.
func NewCore[P any](d Door, rt kernstash.Runtime[P, struct{}], decided func(kernstash.Decision)) (*Core[P], error) {
	core := kernstash.NewContext((*kernstash.Cache)(d.Cache), rt, kernstash.ContextOptions{
		OptionsAsGiven: true, // what the compiler is given is the host's to say
		Decided:        decided,
	})
	return core, core.SetLimits(0, 0)
}

// HostsOwn is the part of a Runtime that has nothing to do where all objects are the
// host's.
type HostsOwn[P any] struct{}

// Kernel is not called: kernels are the host's.
func (HostsOwn[P]) Kernel(P, string) (struct{}, error) { return struct{}{}, nil }

// ReleaseProgram does nothing: the program is the host's.
func (HostsOwn[P]) ReleaseProgram(P) {}

// ReleaseKernel does nothing.
func (HostsOwn[P]) ReleaseKernel(struct{}) {}

type ticketKey[T any] struct{}

// With returns a context for the core that TicketOf finds a ticket in: that of the
// request which the core has build for all who ask.
func With[T any](ctx context.Context, ticket *T) context.Context {
	return context.WithValue(ctx, ticketKey[T]{}, ticket)
}

var errNoTicket = errors.New("no ticket")

// TicketOf returns the ticket of a build's context.
func TicketOf[T any](ctx context.Context) (*T, error) {
	if t, ok := ctx.Value(ticketKey[T]{}).(*T); ok {
		return t, nil
	}
	return nil, fmt.Errorf("%w: %w", kernstash.ErrAbandoned, errNoTicket)
}
