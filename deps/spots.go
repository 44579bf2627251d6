package deps

import (
	"hash/maphash"
	"sync"
)

// spots is what several goroutines that look for the files of one unit found at paths:
// each path is looked at once, but for those that two come to at the same time.
type spots struct {
	shards [16]struct {
		sync.Mutex
		at map[string]spot
	}
}

var spotSeed = maphash.MakeSeed()

// get returns what was found at a path; false: nobody has looked, or could.
func (s *spots) get(path string) (spot, bool) {
	shard := &s.shards[maphash.String(spotSeed, path)%uint64(len(s.shards))]
	shard.Lock()
	defer shard.Unlock()
	found, ok := shard.at[path]
	return found, ok
}

// put notes what was found at a path, without its file.
func (s *spots) put(path string, found spot) {
	if found.err != nil {
		return
	}
	shard := &s.shards[maphash.String(spotSeed, path)%uint64(len(s.shards))]
	shard.Lock()
	defer shard.Unlock()
	if shard.at == nil {
		shard.at = make(map[string]spot)
	}
	shard.at[path] = found
}
