package memory_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/memory"
	"github.com/kernstash/kernstash/store/storetest"
)

func TestMemoryStoreContract(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]memory.Options{"default": {}, "limit": {MaxSize: 1 << 30}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(*testing.T) store.Store { return memory.New(o) })
		})
	}
}

// Over the limit what was used least recently goes, and what is larger than all does not come in.
func TestMemoryStoreLimit(t *testing.T) {
	t.Parallel()
	const limit = 10_000
	var counts stats.Counters
	s := memory.New(memory.Options{MaxSize: limit, Recorder: &counts})
	var keys []key.Key
	for i := range 3 {
		e := storetest.New(t, fmt.Sprint("e", i), 2000) // three, but not four, fit
		if res, err := s.Put(t.Context(), e); err != nil || res != store.Stored {
			t.Fatalf("put %d: %v, %v", i, res, err)
		}
		keys = append(keys, e.Key)
	}
	there := func(want ...bool) {
		t.Helper()
		for i, k := range keys {
			got := false
			for info := range s.List(t.Context()) {
				got = got || info.Key == k
			}
			if got != want[i] {
				t.Errorf("entry %d: there %v, want %v", i, got, want[i])
			}
		}
	}
	there(true, true, true)
	if _, err := s.Get(t.Context(), keys[0]); err != nil {
		t.Error(err)
	}
	if _, err := s.Put(t.Context(), storetest.New(t, "e3", 2000)); err != nil {
		t.Error(err)
	}
	there(true, false, true)
	if res, err := s.Put(t.Context(), storetest.New(t, "large", limit)); !errors.Is(err, store.ErrTooLarge) || res != store.Failed {
		t.Errorf("larger than all: %v, %v", res, err)
	}
	there(true, false, true)
	got := counts.Snapshot()
	if got[stats.DiskPuts] != 4 || got[stats.DiskPutFailures] != 1 || got[stats.DiskEvictions] != 1 || got[stats.DiskBytesEvicted] < 2000 {
		t.Errorf("counted %v", got)
	}
}
