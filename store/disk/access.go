package disk

import (
	"encoding/binary"
	"sync/atomic"
	"time"

	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
)

// accessEvery is how often a use of an entry is recorded, after the first in a
// process.
const accessEvery = time.Hour

// accessTable remembers which entries this process has recorded a use of, and
// when. It is bounded and has no lock: two keys that share a place make each
// other's use be recorded more often, and nothing else.
type accessTable struct {
	last [1 << 13]atomic.Uint64 // 32 bits of the key, 32 bits of seconds
}

// due says whether the use of k is to be recorded now, and takes it as done.
func (t *accessTable) due(k *key.Key, now time.Time) bool {
	h := binary.LittleEndian.Uint64(k.Sum[8:])
	place := &t.last[h%uint64(len(t.last))]
	seconds := uint32(now.Unix())
	was := place.Load()
	if uint32(was>>32) == uint32(h>>32) && was != 0 && seconds-uint32(was) < uint32(accessEvery/time.Second) {
		return false
	}
	return place.CompareAndSwap(was, h>>32<<32|uint64(seconds))
}

// recordUse notes that the entry behind f was used: its modification time is
// our record. Access times are off or coarse on many systems.
func (s *Store) recordUse(f safefs.File, k *key.Key) {
	if s.o.ReadOnly || s.o.KeepAccess {
		return
	}
	if now := s.o.Now(); s.access.due(k, now) {
		_ = f.SetMtime(now.UnixNano())
	}
}
