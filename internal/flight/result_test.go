package flight

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var errDiagnostic = errors.New("diagnostic")

func keepDiagnostics(err error) bool { return errors.Is(err, errDiagnostic) }

// settled runs f with a clock that jumps when every goroutine waits.
func settled(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

func TestThousandWaitersOneBuild(t *testing.T) {
	t.Parallel()
	settled(t, func(t *testing.T) {
		var r Result
		var builds, taken, dropped, waited atomic.Int64
		h := Hooks{
			Build: func(context.Context) error {
				builds.Add(1)
				time.Sleep(time.Second)
				return nil
			},
			Take:   func() { taken.Add(1) },
			Drop:   func() { dropped.Add(1) },
			Waited: func() { waited.Add(1) },
		}
		var all sync.WaitGroup
		for range 1000 {
			all.Go(func() {
				if took, err := r.Do(t.Context(), h); err != nil || !took {
					t.Errorf("Do = %v, %v; want true, nil", took, err)
				}
			})
		}
		all.Wait()
		if builds.Load() != 1 || taken.Load() != 1000 || dropped.Load() != 1 || waited.Load() != 999 {
			t.Errorf("builds %d, taken %d, dropped %d, waited %d; want 1, 1000, 1, 999",
				builds.Load(), taken.Load(), dropped.Load(), waited.Load())
		}
		if took, err := r.Do(t.Context(), h); took || err != nil || !r.Done() {
			t.Errorf("Do of a done result = %v, %v", took, err)
		}
	})
}

func TestCancelledLeaderFailsNobody(t *testing.T) {
	t.Parallel()
	settled(t, func(t *testing.T) {
		var r Result
		var builds atomic.Int64
		h := Hooks{Build: func(ctx context.Context) error {
			builds.Add(1)
			select {
			case <-time.After(time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
		leaderCtx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errDiagnostic)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := r.Do(leaderCtx, h); !errors.Is(err, errDiagnostic) {
				t.Errorf("leader: %v, want its own cause", err)
			}
		})
		synctest.Wait()
		for range 9 {
			all.Go(func() {
				if _, err := r.Do(t.Context(), h); err != nil {
					t.Errorf("follower: %v", err)
				}
			})
		}
		all.Wait()
		if builds.Load() != 1 {
			t.Errorf("%d builds, want 1: the leader hands its build on", builds.Load())
		}
	})
}

func TestBuildIsCancelledWhenNobodyWaits(t *testing.T) {
	t.Parallel()
	settled(t, func(t *testing.T) {
		var r Result
		cancelled := false
		h := Hooks{Build: func(ctx context.Context) error {
			<-ctx.Done()
			cancelled = true
			time.Sleep(time.Second) // a driver that takes its time
			return ctx.Err()
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.Do(ctx, h); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Do: %v", err)
		}
		synctest.Wait()
		if !cancelled || r.State() != InProgress {
			t.Fatalf("cancelled %v, state %d", cancelled, r.State())
		}
		// Who comes now waits for the abandoned build's end, and gets one of
		// its own rather than its error.
		h.Build = func(context.Context) error { return nil }
		if _, err := r.Do(t.Context(), h); err != nil {
			t.Fatalf("Do after an abandoned build: %v", err)
		}
	})
}

func TestFailures(t *testing.T) {
	t.Parallel()
	errSpurious := errors.New("spurious")
	tests := []struct {
		name       string
		build      func() error
		wantBuilds int64
		wantState  State
		wantAgain  int64 // builds after one more request
		check      func(error) bool
	}{
		{
			name: "a diagnostic is final", build: func() error { return errDiagnostic },
			wantBuilds: 1, wantState: Failed, wantAgain: 1,
			check: func(err error) bool { return errors.Is(err, errDiagnostic) },
		},
		{
			name: "anything else is tried once more", build: func() error { return errSpurious },
			wantBuilds: 2, wantState: Initial, wantAgain: 3,
			check: func(err error) bool { return errors.Is(err, errSpurious) },
		},
		{
			name: "a panic is everyone's error", build: func() error { panic(errSpurious) },
			wantBuilds: 1, wantState: Initial, wantAgain: 2,
			check: func(err error) bool {
				var p *PanicError
				return errors.As(err, &p) && errors.Is(err, errSpurious) && len(p.Stack) > 0
			},
		},
		{
			name: "a panic that is no error", build: func() error { panic("boom") },
			wantBuilds: 1, wantState: Initial, wantAgain: 2,
			check: func(err error) bool {
				var p *PanicError
				return errors.As(err, &p) && p.Value == "boom"
			},
		},
		{
			name: "Goexit", build: func() error { runtime.Goexit(); return nil },
			wantBuilds: 1, wantState: Initial, wantAgain: 2,
			check: func(err error) bool { return errors.Is(err, ErrGoexit) },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			settled(t, func(t *testing.T) {
				var r Result
				var builds, dropped atomic.Int64
				h := Hooks{
					Build: func(context.Context) error {
						builds.Add(1)
						time.Sleep(time.Second)
						return tt.build()
					},
					Keep: keepDiagnostics,
					Drop: func() { dropped.Add(1) },
				}
				var all sync.WaitGroup
				for range 50 {
					all.Go(func() {
						if _, err := r.Do(t.Context(), h); !tt.check(err) {
							t.Errorf("Do: %v", err)
						}
					})
				}
				all.Wait()
				if builds.Load() != tt.wantBuilds || r.State() != tt.wantState || dropped.Load() != 0 {
					t.Errorf("builds %d, state %d, dropped %d; want %d, %d, 0",
						builds.Load(), r.State(), dropped.Load(), tt.wantBuilds, tt.wantState)
				}
				if _, err := r.Do(t.Context(), h); !tt.check(err) {
					t.Errorf("Do again: %v", err)
				}
				if builds.Load() != tt.wantAgain {
					t.Errorf("%d builds after another request, want %d", builds.Load(), tt.wantAgain)
				}
			})
		})
	}
}

func TestSpuriousFailureThenSuccess(t *testing.T) {
	t.Parallel()
	settled(t, func(t *testing.T) {
		var r Result
		var builds, failed, good atomic.Int64
		h := Hooks{Build: func(context.Context) error {
			time.Sleep(time.Second)
			if builds.Add(1) == 1 {
				return errors.New("sporadic")
			}
			return nil
		}, Keep: keepDiagnostics}
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if _, err := r.Do(t.Context(), h); err != nil {
					failed.Add(1)
				} else {
					good.Add(1)
				}
			})
		}
		all.Wait()
		// DPC++: the builder returned the error, a waiting thread builds once more.
		if builds.Load() != 2 || failed.Load() != 1 || good.Load() != 99 {
			t.Errorf("builds %d, failed %d, good %d; want 2, 1, 99", builds.Load(), failed.Load(), good.Load())
		}
	})
}

func TestNestedBuildsAndCycles(t *testing.T) {
	t.Parallel()
	settled(t, func(t *testing.T) {
		var outer, c Result
		leaf := Hooks{Build: func(context.Context) error { time.Sleep(time.Second); return nil }}
		nested := Hooks{Build: func(ctx context.Context) error { _, err := c.Do(ctx, leaf); return err }}
		if _, err := outer.Do(t.Context(), nested); err != nil {
			t.Errorf("a build that starts a build: %v", err)
		}

		var self Result
		var selfHooks Hooks
		selfHooks.Build = func(ctx context.Context) error { _, err := self.Do(ctx, selfHooks); return err }
		if _, err := self.Do(t.Context(), selfHooks); !errors.Is(err, ErrCycle) {
			t.Errorf("a build that asks for itself: %v, want ErrCycle", err)
		}

		// Two builds that ask for each other, started by different callers.
		var a, b Result
		var ha, hb Hooks
		ha.Build = func(ctx context.Context) error { time.Sleep(time.Second); _, err := b.Do(ctx, hb); return err }
		hb.Build = func(ctx context.Context) error { time.Sleep(time.Second); _, err := a.Do(ctx, ha); return err }
		var all sync.WaitGroup
		var errA, errB error
		all.Go(func() { _, errA = a.Do(t.Context(), ha) })
		all.Go(func() { _, errB = b.Do(t.Context(), hb) })
		all.Wait()
		if !errors.Is(errA, ErrCycle) || !errors.Is(errB, ErrCycle) {
			t.Errorf("two builds that wait for each other: %v, %v; want ErrCycle", errA, errB)
		}
		waits.Lock()
		defer waits.Unlock()
		if n := len(waits.edges); n != 0 {
			t.Errorf("%d edges left in the graph", n)
		}
	})
}

// lateContext is one whose first question takes a while.
type lateContext struct {
	context.Context
	asked *atomic.Bool
}

func (c lateContext) Value(key any) any {
	if c.asked.CompareAndSwap(false, true) {
		time.Sleep(time.Second)
	}
	return c.Context.Value(key)
}

// A build may ask for what waits for it before its caller comes to wait: that caller goes on, and the build is told.
func TestCycleBeforeItsCallerWaits(t *testing.T) {
	t.Parallel()
	settled(t, func(t *testing.T) {
		var outer, inner Result
		var asked error
		var ho, hi Hooks
		hi.Build = func(ctx context.Context) error { _, asked = outer.Do(ctx, ho); return nil }
		ho.Build = func(ctx context.Context) error {
			_, err := inner.Do(lateContext{ctx, new(atomic.Bool)}, hi)
			return err
		}
		if _, err := outer.Do(t.Context(), ho); err != nil {
			t.Errorf("who waits for the build: %v", err)
		}
		if !errors.Is(asked, ErrCycle) {
			t.Errorf("the build that asks for itself: %v, want ErrCycle", asked)
		}
	})
}

// Without synctest, so that the scheduler is free: many results, cancelled
// callers, failing builds. Every Take is matched, every good build dropped once.
func TestRandomCallers(t *testing.T) {
	t.Parallel()
	const callers, rounds = 32, 200
	for range rounds {
		var r Result
		var users, drops, goods atomic.Int64
		h := Hooks{
			Build: func(ctx context.Context) error {
				runtime.Gosched()
				if goods.Add(1)%3 == 0 {
					return errors.New("sporadic")
				}
				return nil
			},
			Take: func() { users.Add(1) },
			Drop: func() { drops.Add(1) },
		}
		var got atomic.Int64
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				if i%4 == 0 {
					go cancel()
				}
				defer cancel()
				if taken, err := r.Do(ctx, h); err == nil && taken {
					got.Add(1)
				}
			})
		}
		all.Wait()
		// The build's goroutine may be the last to leave.
		for deadline := time.Now().Add(3 * time.Minute); r.Done() && drops.Load() == 0 && time.Now().Before(deadline); {
			runtime.Gosched()
		}
		if users.Load() != got.Load() || (r.Done() && drops.Load() != 1) {
			t.Fatalf("users %d, got %d, drops %d, done %v", users.Load(), got.Load(), drops.Load(), r.Done())
		}
	}
}
