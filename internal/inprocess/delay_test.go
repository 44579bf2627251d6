package inprocess

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/settings"
)

// However long storing takes, and however many builds there are, a process is delayed by
// 20 ms and a fiftieth of what its builds took, and by 100 ms at once.
func TestAllowance(t *testing.T) {
	t.Parallel()
	ms := time.Millisecond
	for _, c := range []struct {
		name        string
		took, spent time.Duration // of each build
		builds      int
		last, all   time.Duration // allowed for the last build, and spent by all
	}{
		{"one of no time", 0, 100 * ms, 1, 20 * ms, 20 * ms},
		{"one", 50 * ms, 100 * ms, 1, 21 * ms, 21 * ms},
		{"a heavy one", 10_000 * ms, time.Second, 1, 100 * ms, 100 * ms},
		{"many, on a slow disk", 10 * ms, 5 * ms, 1000, 200 * time.Microsecond, 20*ms + 200*ms},
		{"many, on a fast one", 100 * ms, ms, 1000, 100 * ms, 1000 * ms},
	} {
		a := allowance{left: waitFirst}
		var last, all time.Duration
		for range c.builds {
			last = a.add(c.took)
			spent := min(c.spent, last)
			a.spend(spent)
			all += spent
		}
		if last != c.last || all != c.all {
			t.Errorf("%s: %v for the last, %v in all", c.name, last, all)
		}
	}
}

func openInstance(t *testing.T) *Instance {
	t.Helper()
	g, err := Open(Options{Settings: settings.Inputs{Program: map[string]string{"dir": filepath.Join(t.TempDir(), "cache")}}}, "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// It returns when all is done, else when its time is over; what is to be done is done all
// the same.
func TestWaitStored(t *testing.T) {
	t.Parallel()
	g := openInstance(t)
	through, stored := make(chan struct{}), make(chan struct{})
	start := time.Now()
	g.WaitStored(0, func() { <-through; close(stored) })
	if took := time.Since(start); took < waitFirst {
		t.Errorf("waited for %v", took)
	}
	late := make(chan struct{})
	g.WaitStored(0, func() { <-late }) // it has no time left, and returns
	if n := g.unwritten.Load(); n != 2 {
		t.Errorf("%d are not written, want both", n)
	}
	close(through)
	<-stored
	close(late)

	done := false
	g.WaitStored(time.Hour, func() { done = true })
	if !done {
		t.Error("did not wait")
	}
}
