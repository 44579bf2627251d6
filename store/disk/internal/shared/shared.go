// Package shared is what entries of a root share: the files of header contents, manifests
// and jobs.
package shared

import (
	"context"

	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/evict"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
)

// EachShared calls f with what every file takes that entries share: header
// files, manifests, jobs.
func EachShared(ctx context.Context, r *rootdir.Root, f func(evict.Usage)) error {
	for _, kind := range []store.Kind{store.Headers, store.Manifests} {
		err := EachBlob(r, kind, false, func(_ safefs.Dir, _ string, _ key.Digest, info safefs.Info) error {
			f(evict.Usage{Bytes: rootdir.Blocks(info.Size)})
			return ctx.Err()
		})
		if err != nil {
			return err
		}
	}
	return EachSpooled(r, false, func(_ safefs.Dir, file spool.File) error {
		f(evict.Usage{Bytes: rootdir.Blocks(file.Size)})
		return ctx.Err()
	})
}
