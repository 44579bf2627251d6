package engine

import (
	"encoding/binary"
	"testing"

	"github.com/kernstash/kernstash/key"
)

// An image that is asked for in ever new ways remembers the last of them, and a
// bounded number of others.
func TestResolutionsAreBounded(t *testing.T) {
	t.Parallel()
	var known resolutions
	var scope key.Digest
	all := make([]*Resolution, 10_000)
	for i := range all {
		res := new(Resolution)
		binary.LittleEndian.PutUint64(res.of.What[:], uint64(i))
		known.add(res)
		if all[i] = known.load(&scope, &res.of); all[i] != res {
			t.Fatalf("resolution %d is not found", i)
		}
	}
	kept := 0
	for _, res := range all {
		if known.load(&scope, &res.of) == res {
			kept++
		}
	}
	if want := maxChain * len(known.first); kept > want || kept < len(known.first) {
		t.Errorf("%d are kept, want at most %d", kept, want)
	}
}
