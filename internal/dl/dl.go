// Package dl opens shared libraries at run time and calls C functions in them,
// without cgo; with it in the library for C hosts. It is the only package that knows how.
//
// With the build tag nogpu, or where there is no dynamic loader that it knows, every Open fails
// with ErrUnsupported, and a program links none of the machinery: it can be a static one.
package dl

import (
	"errors"
	"fmt"
	"strings"
	"sync"
)

// ErrUnsupported is wrapped by Open in a build that cannot open libraries.
var ErrUnsupported = errors.New("this build has no GPU runtimes")

// ErrNoLibrary is wrapped by Open when no library of the given names can be opened.
var ErrNoLibrary = errors.New("cannot be opened")

// Library is an open shared library. It is safe for concurrent use and is
// never closed: GPU runtimes do not survive being unloaded.
type Library struct {
	name   string
	handle uintptr
}

// Open opens the first library of names that the dynamic loader can find and
// load, with its symbols kept local. Names are sonames or paths. The error
// wraps ErrUnsupported or ErrNoLibrary and says what the loader said.
func Open(names ...string) (*Library, error) {
	var said []string
	absent := 0
	for _, name := range names {
		h, err := open(name)
		if err == nil {
			return &Library{name, h}, nil
		}
		if errors.Is(err, ErrUnsupported) {
			return nil, fmt.Errorf("open library %s: %w", name, err)
		}
		// What one loader says of a file that is not there is worth no line a name.
		if isAbsent(err.Error(), name) {
			absent++
			continue
		}
		said = append(said, err.Error())
	}
	if absent > 0 {
		said = append(said, "No such file or directory")
	}
	return nil, fmt.Errorf("open library %s: %w: %s", shortList(names), ErrNoLibrary, strings.Join(said, "; "))
}

// isAbsent reports whether the loader says that the library itself is nowhere, and not
// one that it needs.
func isAbsent(said, name string) bool {
	return strings.HasPrefix(said, name+": ") && strings.Contains(said, "No such file or directory")
}

// shortList names the first of the names, and how many there are besides.
func shortList(names []string) string {
	if len(names) < 3 {
		return strings.Join(names, " or ")
	}
	return fmt.Sprintf("%s, or one of %d other names", names[0], len(names)-1)
}

// Loaded returns the library of a soname if the process has it loaded already,
// by whomever; known on Linux alone.
func Loaded(soname string) (*Library, bool) {
	h, err := loaded(soname)
	return &Library{soname, h}, err == nil && h != 0
}

// Name returns the name that the library was found by.
func (l *Library) Name() string { return l.name }

// Symbol returns the address of an exported function. It looks through the
// library and what that depends on.
func (l *Library) Symbol(name string) (Func, bool) {
	addr, ok := symbol(l.handle, name)
	return Func(addr), ok
}

// Func is the address of a C function.
type Func uintptr

// Functions are those of the library that Open opens. It is opened, and a function looked up, by the first call
// that needs it.
type Functions struct {
	Open    func() (*Library, error)
	Missing error // wrapped where the library does not have a function

	found sync.Map // name → Func
}

// Find returns the function of a name.
func (all *Functions) Find(name string) (Func, error) {
	if f, ok := all.found.Load(name); ok {
		return f.(Func), nil
	}
	lib, err := all.Open()
	if err != nil {
		return 0, err
	}
	f, ok := lib.Symbol(name)
	if !ok {
		return 0, fmt.Errorf("%s: %w", name, all.Missing)
	}
	all.found.Store(name, f)
	return f, nil
}
