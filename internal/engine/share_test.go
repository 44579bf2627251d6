package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/stats"
)

// sharing returns a session whose builds are shared.
func (r *run) sharing(h Host) *Session {
	return r.Session(h, SessionOptions{Share: true, Decided: func(d Decision) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.decided = append(r.decided, d)
	}})
}

// follow returns a group that builds, and two, of another session, that wait for it.
func follow(t *testing.T, run *run, h Host) (leader *Group, followers [2]*Group) {
	t.Helper()
	leader = begin(t, run.sharing(h), Request{Image: source(t, k1)}).Group(0)
	wantStep(t, leader, Build)
	other := run.sharing(h)
	for i := range followers {
		followers[i] = begin(t, other, Request{Image: source(t, k1)}).Group(0)
		wantStep(t, followers[i], Wait)
	}
	return leader, followers
}

// What one request builds is what the others are given who waited for it, though it is
// not stored.
func TestSharedBuild(t *testing.T) {
	t.Parallel()
	run := start(t, newRoot(t), "on", func(s *settings.Settings) { s.MinBuildTime = time.Hour })
	leader, followers := follow(t, run, newHost(t))
	made, ended := artifact(k1), time.Now().Add(-time.Minute)
	leader.Built(Outcome{Artifact: made, Took: time.Second, Ended: ended})
	for _, g := range followers {
		if step := wantStep(t, g, Hit); step.Artifact != made {
			t.Errorf("another artifact: %+v", step.Artifact)
		}
		g.Loaded(time.Millisecond)
		wantStep(t, g, Ended)
	}
	run.want(map[stats.Counter]int64{
		stats.MemoryWaits: 2, stats.DiskWaits: 0, stats.Builds: 1, stats.DiskMisses: 1, stats.DiskHits: 0, stats.DiskPuts: 0,
	})
	run.wantDecision(0, func(d Decision) string {
		if d.Waited != 0 || !d.Ended.Equal(ended) {
			return "want the time when it was built, and no wait"
		}
		return ""
	})
	run.wantDecision(1, func(d Decision) string {
		if d.Origin != Memory || d.Reason != "" || len(d.Kernels) != 1 || d.Key.IsZero() || d.Waited <= 0 {
			return "want what another one built"
		}
		return ""
	})
	wantStep(t, begin(t, run.sharing(newHost(t)), Request{Image: source(t, k1)}).Group(0), Build)
}

// The compiler's verdict is one for all who waited.
func TestSharedFailure(t *testing.T) {
	t.Parallel()
	run := start(t, newRoot(t), "on")
	leader, followers := follow(t, run, newHost(t))
	failed := errors.New("no")
	leader.Failed(failed, time.Second)
	for _, g := range followers {
		if step := wantStep(t, g, Bypass); step.Err != failed {
			t.Errorf("err = %v", step.Err)
		}
		g.Abandon()
	}
	run.want(map[stats.Counter]int64{stats.Builds: 1, stats.BuildFailures: 1})
}

// Of those who waited for a build that was given up one builds.
func TestSharedBuildGivenUp(t *testing.T) {
	t.Parallel()
	run := start(t, newRoot(t), "on")
	leader, followers := follow(t, run, newHost(t))
	leader.Abandon()
	wantStep(t, followers[0], Build)
	wantStep(t, followers[1], Wait)
	followers[0].Abandon()
	wantStep(t, followers[1], Build)
	followers[1].Built(Outcome{Artifact: artifact(k1), Took: time.Second})
	run.finish()
	run.want(map[stats.Counter]int64{stats.Builds: 1, stats.DiskPuts: 1})
}

// A group that follows waits for a build that is under way, and begins none.
func TestFollow(t *testing.T) {
	t.Parallel()
	run := start(t, newRoot(t), "on")
	s := run.sharing(newHost(t))
	none := begin(t, s, Request{Image: source(t, k1)}).Group(0)
	none.Follow()
	leader := begin(t, s, Request{Image: source(t, k1)}).Group(0)
	wantStep(t, leader, Build)
	follower := begin(t, s, Request{Image: source(t, k1)}).Group(0)
	follower.Follow()
	follower.Follow()
	leader.Built(Outcome{Artifact: artifact(k1), Took: time.Second})
	if step := wantStep(t, follower, Hit); !step.Shared {
		t.Error("it is not the one that it followed")
	}
	run.want(map[stats.Counter]int64{stats.MemoryWaits: 1, stats.DiskWaits: 0})
}

// What is for nobody else is built by each who waited, at the same time.
func TestBuildThatIsNotShared(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Outcome{"unfit": {Artifact: artifact(k1), Unfit: "no"}, "nothing": {}} {
		run := start(t, newRoot(t), "on")
		leader, followers := follow(t, run, newHost(t))
		leader.Built(o)
		for _, g := range followers {
			if step := g.Next(t.Context()); step.Kind != Build {
				t.Errorf("%s: the step is %v", name, step.Kind)
			}
		}
	}
}

// A driver that refuses what another request built is given what is stored of it, once,
// and then builds.
func TestSharedArtifactIsRejected(t *testing.T) {
	t.Parallel()
	run := start(t, newRoot(t), "on")
	leader, followers := follow(t, run, newHost(t))
	leader.Built(Outcome{Artifact: artifact(k1), Took: time.Second})
	run.Flush(time.Now().Add(time.Minute))
	g := followers[0]
	wantStep(t, g, Hit)
	g.Rejected(t.Context(), errors.New("no"))
	wantStep(t, g, Hit)
	g.Rejected(t.Context(), errors.New("no"))
	wantStep(t, g, Build)
	run.want(map[stats.Counter]int64{stats.Corrupt: 1})
}

// In the modes that look for nothing builds are shared, too.
func TestSharedInEachMode(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{settings.ModeRefresh, settings.ModeObserve} {
		run := start(t, newRoot(t), mode)
		leader, followers := follow(t, run, newHost(t))
		leader.Built(Outcome{Artifact: artifact(k1), Took: time.Second})
		wantStep(t, followers[0], Hit)
	}
	run := start(t, newRoot(t), settings.ModeReadOnly)
	s := run.sharing(newHost(t))
	leader, follower := begin(t, s, Request{Image: source(t, k1)}).Group(0), begin(t, s, Request{Image: source(t, k1)}).Group(0)
	wantStep(t, leader, Bypass)
	wantStep(t, follower, Wait)
	leader.Built(Outcome{Artifact: artifact(k1), Took: time.Second})
	wantStep(t, follower, Hit)
}

// Where header files changed while it was built, its failure is nobody else's; all who waited
// build at once.
func TestSharedFailureOfChangedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, dir+"/value.h", "#define VALUE 1\n")
	h := newHost(t)
	h.search = &deps.Search{}
	run := start(t, newRoot(t), "on")
	s := run.sharing(h)
	ask := func() *Group {
		r := Request{Image: source(t, "#include \"value.h\"\n"+k1), CompileOptions: "-I" + dir}
		return begin(t, s, r).Group(0)
	}
	leader, first, second := ask(), ask(), ask()
	wantStep(t, leader, Build)
	wantStep(t, first, Wait)
	wantStep(t, second, Wait)
	writeFile(t, dir+"/value.h", "#define VALUE 22\n")
	leader.Failed(errors.New("a diagnostic"), time.Second)
	wantStep(t, first, Build)
	wantStep(t, second, Build)
}

// Who has waited for three builds that were given up waits for none any more.
func TestSharedBuildGivenUpAgain(t *testing.T) {
	t.Parallel()
	run := start(t, newRoot(t), "on")
	s := run.sharing(newHost(t))
	leader, patient := begin(t, s, Request{Image: source(t, k1)}).Group(0), begin(t, s, Request{Image: source(t, k1)}).Group(0)
	wantStep(t, leader, Build)
	for range 3 {
		wantStep(t, patient, Wait)
		next := begin(t, s, Request{Image: source(t, k1)}).Group(0)
		wantStep(t, next, Wait)
		leader.Abandon()
		wantStep(t, next, Build)
		leader = next
	}
	wantStep(t, patient, Build)
}

// Where another process makes the artifact nobody waits: there would be nothing.
func TestBuiltAtOnceElsewhere(t *testing.T) {
	t.Parallel()
	run := start(t, newRoot(t), "on")
	h := newHost(t)
	h.delivery = Elsewhere
	s := run.sharing(h)
	first, second := begin(t, s, Request{Image: source(t, k1)}).Group(0), begin(t, s, Request{Image: source(t, k1)}).Group(0)
	wantStep(t, first, Build)
	wantStep(t, second, Build)
	second.Built(Outcome{Took: time.Second})
	first.Built(Outcome{Took: time.Second})
	run.finish()
	run.want(map[stats.Counter]int64{stats.DiskMisses: 1, stats.MemoryWaits: 0})
	for i, want := range []string{AtOnce, "miss.absent"} {
		run.wantDecision(i, func(d Decision) string {
			if d.Reason != want {
				return "want " + want
			}
			return ""
		})
	}
}

// Header files that have to be searched are not searched by BeginKnown.
func TestBeginKnown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, dir+"/value.h", "#define VALUE 1\n")
	h := newHost(t)
	h.search = &deps.Search{}
	run := start(t, newRoot(t), "on")
	r := Request{Image: source(t, "#include \"value.h\"\n"+k1), CompileOptions: "-I" + dir}
	s := run.session(h)
	if tx, err := s.BeginKnown(r); tx != nil || err != nil {
		t.Errorf("of files that nobody has looked at: %v, %v", tx, err)
	}
	run.want(map[stats.Counter]int64{stats.HeadersScanned: 0})
	buildOnce(t, s, r, k1)
	run.finish()
	again := start(t, run.store.(interface{ Dir() string }).Dir(), "on")
	r.Image = source(t, "#include \"value.h\"\n"+k1)
	tx, err := again.session(h).BeginKnown(r)
	if tx == nil || err != nil {
		t.Fatalf("of files that are what they were: %v", err)
	}
	wantStep(t, tx.Group(0), Hit)
	again.want(map[stats.Counter]int64{stats.HeadersScanned: 0})
	if _, err := s.BeginKnown(Request{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("without an image: %v", err)
	}
}
