package programs

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/cmplx"
	"regexp"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/key"
)

// fakeMachine hands out memory and launches nothing, or what fill writes.
type fakeMachine struct {
	buildErr, launchErr error
	fill                byte
	released            int
	handed              int
}

type fakeBuffer struct {
	m       *fakeMachine
	content []byte
}

func (m *fakeMachine) Buffer(size int, content []byte) (tool.Memory, error) {
	m.handed++
	b := make([]byte, size)
	for i := range b {
		b[i] = m.fill
	}
	copy(b, content)
	return &fakeBuffer{m, b}, nil
}

func (m *fakeMachine) Build(context.Context, tool.Code) (tool.Program, error) {
	if m.buildErr != nil {
		return nil, m.buildErr
	}
	m.handed++
	return m, nil
}

func (m *fakeMachine) Launch(string, []int, []int, ...any) error { return m.launchErr }
func (m *fakeMachine) Release()                                  { m.released++ }

func (b *fakeBuffer) Read() ([]byte, error) { return b.content, nil }
func (b *fakeBuffer) Release()              { b.m.released++ }

// TestWrongNumbersAreSeen runs every program on machines that compute nothing:
// zeros, and NaNs, are wrong answers.
func TestWrongNumbersAreSeen(t *testing.T) {
	t.Parallel()
	for _, p := range append(All(), Warm()) {
		for _, fill := range []byte{0, 0xff} {
			m := &fakeMachine{fill: fill}
			if _, wrong, err := p.Run(t.Context(), m); wrong == "" || err != nil {
				t.Errorf("%s, fill %d: %v, and nothing is wrong", p.Name, fill, err)
			}
			if m.released != m.handed {
				t.Errorf("%s: %d of %d objects released", p.Name, m.released, m.handed)
			}
		}
	}
}

func TestErrorsAreNotWrongNumbers(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	for _, m := range []*fakeMachine{{buildErr: cause}, {launchErr: cause}} {
		_, wrong, err := All()[0].Run(t.Context(), m)
		if !errors.Is(err, cause) || wrong != "" {
			t.Errorf("got %q, %v", wrong, err)
		}
		if m.released != m.handed {
			t.Errorf("%d of %d objects released", m.released, m.handed)
		}
	}
}

func TestProgramsAreWhatTheySay(t *testing.T) {
	t.Parallel()
	names := make(map[string]bool)
	for _, p := range append(All(), Warm()) {
		if names[p.Name] {
			t.Errorf("%s is there twice", p.Name)
		}
		names[p.Name] = true
		if n := strings.Count(string(p.Texts[key.OpenCLC]), "__kernel"); n != 1 {
			t.Errorf("%s: %d kernels", p.Name, n)
		}
		if !regexp.MustCompile(`__kernel void ` + p.Name + `\(`).Match(p.Texts[key.OpenCLC]) {
			t.Errorf("%s: no kernel of that name", p.Name)
		}
		for d := range p.Global {
			if p.Global[d]%p.Local[d] != 0 {
				t.Errorf("%s: global size %v, local size %v", p.Name, p.Global, p.Local)
			}
		}
		if !regexp.MustCompile(`extern "C" __global__ void[^;{]* ?` + p.Name + `\(`).Match(p.Texts[key.CUDACpp]) {
			t.Errorf("%s: no kernel of that name in CUDA C++", p.Name)
		}
		outs := 0
		for _, a := range p.problem().args {
			if a.Out > 0 {
				outs++
			}
		}
		if outs == 0 {
			t.Errorf("%s computes nothing", p.Name)
		}
	}
}

func TestTransformAgainstTheDefinition(t *testing.T) {
	t.Parallel()
	const n = 32
	x := make([]complex128, n)
	for i, v := range noise(1, n) {
		x[i] = complex(float64(v), float64(i%3))
	}
	for k, got := range transform(x) {
		var want complex128
		for i, v := range x {
			want += v * cmplx.Rect(1, -2*math.Pi*float64(i*k)/n)
		}
		if cmplx.Abs(got-want) > 1e-12 {
			t.Errorf("%d: %v, want %v", k, got, want)
		}
	}
}

// TestStepKeepsMomentum: what bodies pull on each other adds up to nothing.
func TestStepKeepsMomentum(t *testing.T) {
	t.Parallel()
	x, v := noise(7, 4*nbodyN), noise(8, 4*nbodyN)
	for i := range nbodyN {
		x[4*i+3] = (x[4*i+3] + 1) / nbodyN
		v[4*i+3] = 0
	}
	newX, newV := step(x, v)
	for c := range 3 {
		var before, after float64
		for i := range nbodyN {
			mass := float64(x[4*i+3])
			before += mass * float64(v[4*i+c])
			after += mass * newV[4*i+c]
		}
		if math.Abs(after-before) > 1e-12 {
			t.Errorf("axis %d: momentum %g, was %g", c, after, before)
		}
	}
	if newX[3] != float64(x[3]) {
		t.Error("a mass changed")
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	b := bytesOf[float32](1, -2.5)
	if got := readFloats(b); got[0] != 1 || got[1] != -2.5 {
		t.Errorf("got %v", got)
	}
	if got := binary.BigEndian.Uint32(bigEndian(bytesOf[uint32](7))); got != 7 {
		t.Errorf("got %d", got)
	}
	if e, err := worst([]float64{1, 2}, []float64{1, 1}, 2); err != nil || e != 0.5 {
		t.Errorf("got %v, %v", e, err)
	}
	if _, err := worst(nil, []float64{1}, 1); err == nil {
		t.Error("a short answer passed")
	}
}
