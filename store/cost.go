package store

import (
	"context"
	"time"

	"github.com/kernstash/kernstash/key"
)

// Coster is what a Store offers that may know what a build costs of which it has no entry.
type Coster interface {
	// CostNear returns what a build took that differs from that of k in the device alone: with the driver
	// before this one, say. Zero: it has none.
	CostNear(ctx context.Context, k key.Key) time.Duration
}

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
