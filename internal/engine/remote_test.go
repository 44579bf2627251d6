package engine

import (
	"context"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/remote/remotetest"
	"github.com/kernstash/kernstash/store/tiered"
)

// What one machine builds another finds, is told from where, and then has itself.
func TestFromRemote(t *testing.T) {
	t.Parallel()
	objects := new(remotetest.Memory)
	r := Request{Image: source(t, k1)}
	machine := func(root string) (*run, *tiered.Store) {
		var s *tiered.Store
		run := startOn(t, root, settings.ModeOn, func(d *disk.Store) kept {
			s = tiered.New(d, tiered.Options{Far: []tiered.Far{{Name: "redis://fleet", Store: remote.New(objects, remote.Options{}), Timeout: time.Minute}}})
			t.Cleanup(func() { s.Close() })
			return s
		})
		return run, s
	}
	a, stored := machine(newRoot(t))
	buildOnce(t, a.session(newHost(t)), r, k1)
	a.finish()
	if !stored.Flush(time.Now().Add(time.Minute)) {
		t.Fatal("it is not uploaded")
	}
	root := newRoot(t)
	for _, want := range []string{"redis://fleet", ""} {
		b, s := machine(root)
		g := begin(t, b.session(newHost(t)), r).Group(0)
		step := wantStep(t, g, Hit)
		if got := string(step.Artifact.Binaries[0].Data); got != "binary of "+k1 {
			t.Errorf("the artifact is %q", got)
		}
		g.Loaded(time.Millisecond)
		b.wantDecision(0, func(d Decision) string {
			if d.Origin != Disk || d.Layer != want {
				return "want a hit from " + want
			}
			return ""
		})
		b.finish()
		if !s.Flush(time.Now().Add(time.Minute)) {
			t.Fatal("it is not near")
		}
	}
}

// justStored is a store in which an entry appears after the first look, which a remote that is
// out of order has answered.
type justStored struct {
	*disk.Store
	why   reason.Reason
	looks int
}

func (s *justStored) Get(ctx context.Context, k key.Key) (*store.Entry, error) {
	if s.looks++; s.looks == 1 {
		return nil, &store.MissError{Reason: s.why}
	}
	return s.Store.Get(ctx, k)
}

// Rule 3: who gets the lock looks again, also where the remote said something else than that the
// entry is not there.
func TestLooksAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		why  reason.Reason
		want Kind
	}{
		{reason.MissAbsent, Hit},
		{reason.MissRemote, Hit},
		{reason.MissUntrusted, Hit},
		{reason.MissDigest, Build}, // what was damaged is damaged still
	} {
		t.Run(tt.why.String(), func(t *testing.T) {
			t.Parallel()
			root := newRoot(t)
			r := Request{Image: source(t, k1)}
			first := start(t, root, settings.ModeOn)
			buildOnce(t, first.session(newHost(t)), r, k1)
			first.finish()
			run := startOn(t, root, settings.ModeOn, func(d *disk.Store) kept { return &justStored{Store: d, why: tt.why} })
			g := begin(t, run.session(newHost(t)), r).Group(0)
			defer g.Abandon()
			wantStep(t, g, tt.want)
		})
	}
}

// A miss for what a remote said is explained and counted like one that is absent.
func TestRemoteIsDown(t *testing.T) {
	t.Parallel()
	objects := &remotetest.Memory{Fault: func(context.Context, remotetest.Op, string) error { return context.DeadlineExceeded }}
	run := startOn(t, newRoot(t), settings.ModeOn, func(d *disk.Store) kept {
		s := tiered.New(d, tiered.Options{Far: []tiered.Far{{Name: "far", Store: remote.New(objects, remote.Options{})}}})
		t.Cleanup(func() { s.Close() })
		return s
	})
	buildOnce(t, run.session(newHost(t)), Request{Image: source(t, k1)}, k1)
	run.finish()
	run.want(map[stats.Counter]int64{
		stats.DiskMisses: 1, stats.Of(reason.MissRemote): 1, stats.Of(reason.NearestNothing): 1, stats.Builds: 1, stats.DiskPuts: 1,
	})
}
