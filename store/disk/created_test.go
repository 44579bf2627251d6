//go:build linux

package disk

import (
	"testing"
	"time"

	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/storetest"
)

// TestCreatedIsFilledIn: an artifact that does not say when it was made gets
// the time it is stored; the caller's own is not changed.
func TestCreatedIsFilledIn(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := open(t, func(o *Options) { o.Now = c.now })
	e := storetest.New(t, "e", 100)
	e.Artifact.Created = time.Time{}
	put(t, s, e, store.Stored)
	got, err := s.Get(bg, e.Key)
	must(t, err)
	if !got.Artifact.Created.Equal(c.now()) || !e.Artifact.Created.IsZero() {
		t.Errorf("created %v, the caller's %v", got.Artifact.Created, e.Artifact.Created)
	}
}
