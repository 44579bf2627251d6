//go:build linux && !nogpu

package build_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/worker"
)

// ofAnOlderDriver puts an entry as an earlier driver would have, for a recipe of the
// present one, and takes that one's away.
func ofAnOlderDriver(t *testing.T, s *disk.Store, k key.Key, change func(*key.Device, *store.Artifact)) key.Key {
	t.Helper()
	e, err := s.Get(bg, k)
	must(t, err)
	r, err := s.Recipe(bg, k)
	must(t, err)
	old, a := *r, *e.Artifact
	change(&old.Device, &a)
	must(t, s.Delete(bg, k))
	_, err = s.Put(bg, &store.Entry{Key: old.Key(), Recipe: &old, Artifact: &a})
	must(t, err)
	return old.Key()
}

// rebuilder are options of a worker that builds anew for the device that is here.
func rebuilder(t *testing.T, s *disk.Store, role string) worker.Options {
	t.Helper()
	d, err := device()
	must(t, err)
	id, err := d.Identify()
	must(t, err)
	r := worker.NewRebuilds(worker.RebuildOptions{Store: s, Devices: []key.Device{id}, Environ: environ(t.TempDir())})
	t.Cleanup(func() { _ = r.Close() })
	o := options(t, s, role)
	o.Refill = r.Next
	return o
}

// TestAfterADriverUpdate: what the old driver had built is built anew, once, for the
// launches that it was ready for; the application's next start compiles nothing.
func TestAfterADriverUpdate(t *testing.T) {
	t.Parallel()
	timing.Long(t)
	q := request{Root: newDir(t), Source: source, Options: "-DA=1", Local: 64, Global: 256, Spool: true}
	cold := start(t, q)
	s := open(t, q.Root)
	work(t, options(t, s, "builder"))
	old := ofAnOlderDriver(t, s, cold.Key, func(d *key.Device, a *store.Artifact) {
		d.Driver = "2.0"
		d.Compiler = []key.Pair{{Name: "libLLVM-14.so.1", Value: "build-id:0123"}}
		a.Cost = 7 * time.Second
	})
	// Without being asked a worker does nothing of the kind.
	if st := work(t, options(t, s, "builder")); st.Done != 0 {
		t.Errorf("unasked: %+v", st)
	}
	if st := work(t, rebuilder(t, s, "builder")); st.Done != 1 || st.Last[0].State != "stored" || st.Refused+st.Kept+st.Waiting != 0 {
		t.Fatalf("worker: %+v", st)
	}
	e, err := s.Get(bg, cold.Key)
	must(t, err)
	if a := e.Artifact; a.Cost != 7*time.Second || !slices.Equal(a.Variants, []string{cold.Variant}) || a.Binaries[0].Form != store.FormDeferred {
		t.Errorf("cost %v, variants %v, form %v", a.Cost, a.Variants, a.Binaries[0].Form)
	}
	if _, err := s.Get(bg, old); err != nil {
		t.Errorf("the old entry: %v", err)
	}
	q.Spool = false
	isWarm(t, cold, start(t, q))
	if st := work(t, rebuilder(t, s, "builder")); st.Done+st.Refused+st.Kept != 0 {
		t.Errorf("again: %+v", st)
	}
}

// TestRebuildsInOrder: what saves most for its size comes first, and what is used
// lately before what is not; what is of another device, or cannot hit, never. A build
// that goes over the worker's budget is the last. Without being asked a worker does nothing of the
// kind. The long form goes on until nothing is left.
func TestRebuildsInOrder(t *testing.T) {
	t.Parallel()
	s := newRoot(t)
	put := func(source string, cost time.Duration, change func(*key.Device)) key.Key {
		t.Helper()
		j := handMade(t, source, smallVariant)
		now := j.Key()
		change(&j.Recipe.Device)
		_, err := s.Put(bg, &store.Entry{Key: j.Key(), Recipe: j.Recipe, Artifact: &store.Artifact{
			Binaries: []store.Binary{{Form: store.FormDeferred, Data: []byte("old")}}, Variants: []string{smallVariant},
			Cost: cost, Created: time.Now(),
		}})
		must(t, err)
		return now
	}
	older := func(d *key.Device) { d.Driver = "2.0" }
	oldest := func(d *key.Device) { d.Driver = "1.0" }
	cheap := put(small+"\n", time.Second, older)
	dear := put(small+"\n\n", time.Hour, older)
	put(small+"\n\n", time.Minute, oldest) // the same program, by two drivers
	put(small+"\n\n\n", time.Hour, func(d *key.Device) { d.Platform = "another" })
	put(small+"\n\n\n\n", time.Hour, func(d *key.Device) { d.API = "levelzero" })

	if st := work(t, options(t, s, "builder")); st.Done+st.Refused+st.Kept != 0 {
		t.Errorf("unasked: %+v", st)
	}
	o := rebuilder(t, s, "builder")
	o.Budget = time.Millisecond
	if st := work(t, o); st.Done != 1 || st.End == "nothing to do" {
		t.Errorf("a millisecond: %+v", st)
	}
	if _, err := s.Get(bg, dear); err != nil {
		t.Errorf("what saves most is not there: %v", err)
	}
	if _, err := s.Get(bg, cheap); err == nil {
		t.Error("what saves less is there already")
	}
	if !timing.IsLong() {
		return
	}
	st := work(t, rebuilder(t, s, "builder"))
	if diff := cmp.Diff([]int{1, 0, 0}, []int{st.Done, st.Refused, st.Kept}); diff != "" {
		t.Errorf("the rest: %s", diff)
	}
	if _, err := s.Get(bg, cheap); err != nil {
		t.Error(err)
	}
}
