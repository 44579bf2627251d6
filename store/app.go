package store

import (
	"context"

	"github.com/kernstash/kernstash/key"
)

// App says what an application is known to use.
type App struct {
	Keys      []key.Key    // of entries
	Manifests []key.Digest // names of manifests
}

// Prefetcher is what a Store offers that other machines share: it fetches what an application is
// known to use before that is asked for.
type Prefetcher interface {
	// Prefetch fetches it, as far as it is not near, and returns when that is done, which may
	// take seconds.
	Prefetch(ctx context.Context, app string) Prefetched
}

// Prefetched says what came of a prefetch. All but From are numbers of entries or of manifests.
type Prefetched struct {
	From      string // the store that knows the application; "": none does
	Listed    int    // entries that the application is known to use
	Near      int    // of those, that were near
	Came      int    // of those, that were fetched
	Manifests int    // that were fetched
}
