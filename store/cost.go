package store

import (
	"context"
	"time"
)

// costKey is the context key of what a build is known to cost.
type costKey struct{}

// WithCost returns a context that says how long the build takes that a store is asked to save,
// where that is known: a remote is waited for no longer than half of it, and another machine's
// build no longer than twice.
func WithCost(ctx context.Context, cost time.Duration) context.Context {
	return context.WithValue(ctx, costKey{}, cost)
}

// Cost returns what WithCost said; zero: it is not known.
func Cost(ctx context.Context) time.Duration {
	cost, _ := ctx.Value(costKey{}).(time.Duration)
	return max(cost, 0)
}
