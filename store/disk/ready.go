package disk

import (
	"context"
	"errors"
	"io/fs"

	"github.com/kernstash/kernstash/key"
)

// Ready makes what a put of a key will find made: the root, what every root has
// beside its entries, and the directory of the device. It is for the time in which
// the compiler is busy. What fails is tried again by the put, which says so.
func (s *Store) Ready(ctx context.Context, k key.Key) {
	if s.o.ReadOnly || ctx.Err() != nil {
		return
	}
	r, err := s.acquire(true)
	if err != nil {
		return
	}
	defer r.release()
	if _, err := r.meta(s.o.hooks.noLocks); err != nil {
		return
	}
	// The directories below it are the program's own, and stay away until it is built.
	device := s.names(k)[componentDevice]
	if _, err := r.dir.Lstat(device); errors.Is(err, fs.ErrNotExist) {
		_ = r.dir.Mkdir(device)
	}
}
