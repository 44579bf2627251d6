package store

import (
	"context"

	"github.com/kernstash/kernstash/key"
)

// wantedKey is the context key of the entry that a lock is for.
type wantedKey struct{}

// WithWanted returns a context that says which entry a caller of [Locker.Lock] wants, where that is not the
// entry of the key it locks: a wait ends when the entry is there. The zero key says that it is not known
// which: a wait ends with the lock.
func WithWanted(ctx context.Context, k key.Key) context.Context {
	return context.WithValue(ctx, wantedKey{}, k)
}

// Wanted returns what WithWanted said; else locked, the key that is locked.
func Wanted(ctx context.Context, locked key.Key) key.Key {
	if k, ok := ctx.Value(wantedKey{}).(key.Key); ok {
		return k
	}
	return locked
}
