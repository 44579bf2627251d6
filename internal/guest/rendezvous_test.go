package guest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kernstash/kernstash"
)

type meeting = Rendezvous[string, int]

// asked returns a rendezvous at which a step is wanted, and what the core gets for it.
func asked(t *testing.T, g *Guest) (m *meeting, got func() (int, error)) {
	t.Helper()
	m = NewRendezvous[string, int](g.Door("test"))
	answer := 0
	m.Ask(func(ctx context.Context) (err error) {
		answer, err = m.Step(ctx, "a step")
		return err
	})
	if step, said := m.Wait(time.Minute); step != "a step" || said != Wanted {
		t.Fatalf("%q, %v", step, said)
	}
	return m, func() (int, error) {
		<-m.through
		return answer, m.err
	}
}

func TestRendezvous(t *testing.T) {
	t.Parallel()
	g := openGuest(t)
	errRefused := errors.New("refused")
	for _, c := range []struct {
		name string
		host func(m *meeting) // does the step
		want int
		err  error
	}{
		{"answered", func(m *meeting) { m.Answer(3, nil, true) }, 3, nil},
		{"failed", func(m *meeting) { m.Answer(0, errRefused, true) }, 0, errRefused},
		{"ended", func(m *meeting) { m.End() }, 0, kernstash.ErrAbandoned},
		{"answered, then ended", func(m *meeting) { m.Answer(3, nil, false); m.End() }, 3, nil},
		{"ended, then answered", func(m *meeting) {
			m.End()
			if m.Answer(3, nil, true) {
				t.Error("what comes after the end is heard")
			}
		}, 0, kernstash.ErrAbandoned},
		{"answered twice", func(m *meeting) {
			if !m.Answer(3, nil, true) || m.Answer(4, nil, true) {
				t.Error("not heard, or heard twice")
			}
		}, 3, nil},
	} {
		for range 100 { // what comes first decides, each time
			m, got := asked(t, g)
			c.host(m)
			if n, err := got(); n != c.want || !errors.Is(err, c.err) {
				t.Fatalf("%s: %d, %v", c.name, n, err)
			}
			if _, said := m.Wait(time.Minute); said != Over && said != Through {
				t.Fatalf("%s: then %v", c.name, said)
			}
		}
	}
}

func TestRendezvousSays(t *testing.T) {
	t.Parallel()
	g := openGuest(t)
	m, _ := asked(t, g)
	if step, ok := m.Current(); step != "a step" || !ok || !m.Stepped() {
		t.Errorf("%q is being done: %v", step, ok)
	}
	if _, said := m.Wait(time.Minute); said != Over {
		t.Errorf("during a step: %v", said)
	}
	m.Answer(1, nil, false)
	if _, said := m.Wait(time.Minute); said != Through || m.Err() != nil {
		t.Errorf("when the core is through: %v, %v", said, m.Err())
	}
	if _, ok := m.Current(); ok {
		t.Error("something is done still")
	}

	m = NewRendezvous[string, int](g.Door("test"))
	m.Ask(func(ctx context.Context) error {
		<-ctx.Done()
		panic("in the core")
	})
	if _, said := m.Wait(0); said != Nothing {
		t.Errorf("while the core works: %v", said)
	}
	m.begun = time.Now().Add(-Patience)
	if _, said := m.Wait(time.Minute); said != Late {
		t.Errorf("after too long: %v", said)
	}
	if <-m.through; !errors.Is(m.Err(), ErrPanic) {
		t.Errorf("a panic: %v", m.Err())
	}
}
