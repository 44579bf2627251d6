package engine

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Builds at once share what the time costs: of each second in which n are under way, each has 1/n.
func TestCostOfBuildsAtOnce(t *testing.T) {
	t.Parallel()
	type build struct {
		from, to int // seconds
		took     time.Duration
		cost     time.Duration
	}
	for _, c := range []struct {
		name   string
		builds []build
	}{
		{"one after the other", []build{{0, 2, 2 * time.Second, 2 * time.Second}, {2, 5, 3 * time.Second, 3 * time.Second}}},
		{"with a pause", []build{{0, 1, time.Second, time.Second}, {5, 6, time.Second, time.Second}}},
		{"the second within the first", []build{{0, 4, 4 * time.Second, 3 * time.Second}, {1, 3, 2 * time.Second, time.Second}}},
		{"four behind one lock", []build{
			{0, 12, 12 * time.Second, 3 * time.Second},
			{0, 24, 24 * time.Second, 7 * time.Second},
			{0, 36, 36 * time.Second, 13 * time.Second},
			{0, 48, 48 * time.Second, 25 * time.Second},
		}},
		{"the compiler alone took half of it", []build{{0, 4, 2 * time.Second, time.Second}, {0, 4, 4 * time.Second, 2 * time.Second}}},
		{"over at once", []build{{0, 0, time.Second, time.Second}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var b busy
				got := make([]time.Duration, len(c.builds))
				parts := make([]*part, len(c.builds))
				for second := range 60 {
					for i, of := range c.builds {
						if second == of.from {
							parts[i] = b.begin()
						}
						if second == of.to {
							got[i] = b.end(parts[i], of.took)
						}
					}
					time.Sleep(time.Second)
				}
				for i, of := range c.builds {
					if diff := cmp.Diff(of.cost, got[i].Round(time.Millisecond)); diff != "" {
						t.Errorf("build %d (-want +got):\n%s", i, diff)
					}
				}
				if b.builds != 0 {
					t.Errorf("%d builds are under way in the end", b.builds)
				}
			})
		})
	}
}

// The engine knows who builds: from Build or Bypass to the answer, or until the caller gives up.
func TestBuildsUnderWay(t *testing.T) {
	t.Parallel()
	r := start(t, newRoot(t), "on")
	s := r.session(newHost(t))
	underWay := func(want int) {
		t.Helper()
		b := &s.e.busy
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.builds != want {
			t.Errorf("%d builds are under way, want %d", b.builds, want)
		}
	}
	group := func(code string) *Group { return begin(t, s, Request{Image: source(t, code)}).Group(0) }
	first, second, third := group("kernel void a() {}"), group("kernel void b() {}"), group("kernel void c() {}")
	underWay(0)
	for i, g := range []*Group{first, second, third} {
		wantStep(t, g, Build)
		wantStep(t, g, Build) // asked for twice
		underWay(i + 1)
	}
	first.Built(Outcome{Artifact: artifact("a"), Took: time.Second})
	underWay(2)
	if cost := first.Cost(); cost <= 0 || cost >= time.Second {
		t.Errorf("a build beside two others costs %v of its second", cost)
	}
	second.Failed(errors.New("a mistake"), time.Second)
	third.Abandon()
	third.Abandon()
	underWay(0)
	again := group("kernel void a() {}")
	await(t, again)
	wantStep(t, again, Hit)
	underWay(0)
	again.Rejected(t.Context(), errors.New("not of this driver"))
	wantStep(t, again, Build)
	underWay(1)
	again.Built(Outcome{Artifact: artifact("a"), Took: time.Second})
	underWay(0)
	if again.Cost() != time.Second {
		t.Errorf("a build alone costs %v, want its second", again.Cost())
	}
}
