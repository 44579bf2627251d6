package rtc

import (
	"fmt"
	"sync"

	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/elfid"
	"github.com/kernstash/kernstash/key"
)

// Loaded returns the Library that somebody else has loaded and calls: the one that
// the function at compile, its CompileProgram, is in. It says what the library is
// and makes requests of the core's for it; it cannot compile.
func Loaded(api API, compile uintptr, major, minor int) (*Library, error) {
	d, ok := dialectOf(api)
	if !ok {
		return nil, fmt.Errorf("compiler: %w: %d", ErrAPI, api)
	}
	l := &Library{api: api, d: d, major: major, minor: minor}
	l.fn.compile = dl.Func(compile)
	m := elfid.Loaded()
	if at, ok := m.Find(compile); ok {
		l.path = at.Path
	}
	l.identity = sync.OnceValues(func() (key.Device, error) { return l.identify(m) }) // which is asked for at once
	l.supports = func() ([]int, error) { return nil, fmt.Errorf("supported architectures: %w", ErrMissing) }
	return l, nil
}

// NewOutput returns the output that holds these answers, by form; it keeps them.
func NewOutput(log Answer, forms map[Form]Answer, lowered []Lowered) *Output {
	o := &Output{log: log, lowered: lowered}
	for f, a := range forms {
		if f < numForms {
			o.forms[f] = a
		}
	}
	return o
}

// Forms returns how many forms there are: all are below it.
func Forms() Form { return numForms }
