// Package drivers knows what the drivers of GPUs have in common whichever API they
// are asked through: which libraries compile for them, and which environment
// variables they obey while they do.
package drivers

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/kernstash/kernstash/key"
)

// Rules say which environment variables a driver obeys while it compiles.
type Rules struct {
	Prefixes []string               // all that start so,
	Names    []string               // and these,
	Except   []string               // but none that starts so
	SwitchOn string                 // if this variable is not zero,
	Also     func(name string) bool // what this says as well; may be nil
	Files    []string               // of settings, which it obeys where they are there when it compiles
	AtLoad   *Directory             // of settings that it reads when it is loaded; nil: there are none
	Reads    []string               // variables with which it reads files, unless they are 0
	Included []string               // headers that it reads unasked, from directories to search first
	Sets     []string               // variables that hold words whose order decides nothing
}

// Of returns the variables of an environment, as os.Environ has it, that the rules
// name, sorted by name.
func (r *Rules) Of(environ []string) []key.Pair {
	on := isOn(environ, r.SwitchOn)
	var pairs []key.Pair
	for _, e := range environ {
		if name, value, _ := strings.Cut(e, "="); r.obeys(name, on) {
			if slices.Contains(r.Sets, name) {
				value = strings.Join(slices.Sorted(slices.Values(strings.Fields(value))), " ")
			}
			pairs = append(pairs, key.Pair{Name: name, Value: value})
		}
	}
	slices.SortFunc(pairs, func(a, b key.Pair) int { return strings.Compare(a.Name, b.Name) })
	return pairs
}

// isOn reports whether a variable has a value that is not zero.
func isOn(environ []string, variable string) (on bool) {
	for _, e := range environ {
		if name, value, _ := strings.Cut(e, "="); variable != "" && name == variable {
			on = value != "0" && value != ""
		}
	}
	return on
}

func (r *Rules) obeys(name string, on bool) bool {
	if beginsWith(r.Except, name) {
		return false
	}
	return beginsWith(r.Prefixes, name) || slices.Contains(r.Names, name) || on && r.Also != nil && r.Also(name)
}

func beginsWith(prefixes []string, name string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// MayKnow reports whether one of the libraries at paths may look for a variable of a name: the
// name ends a text in it. Without libraries, or where one cannot be read, it may.
func MayKnow(paths []string, name string) bool {
	return len(paths) == 0 || slices.ContainsFunc(paths, func(path string) bool {
		k := [2]string{path, name}
		if in, ok := texts.Load(k); ok {
			return in.(bool)
		}
		content, err := os.ReadFile(path)
		in := err != nil || bytes.Contains(content, append([]byte(name), 0))
		texts.Store(k, in)
		return in
	})
}

// texts holds [2]string{path, name} → bool. What is loaded stays until the process ends.
var texts sync.Map

// IncludedFrom returns the path of a header in one of the directories that the driver would
// read unasked; "" where there is none.
func (r *Rules) IncludedFrom(dirs []string) string {
	for _, dir := range dirs {
		for _, name := range r.Included {
			path := filepath.Join(dir, name)
			if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
				return path
			}
		}
	}
	return ""
}

// Obeyed returns an error that names what the rules know of that the driver reads while it
// compiles, or has read when it was loaded: a file, or a variable that has it read some. Such
// files are for those who work on the driver: where one is there nobody knows what the driver
// makes of a program. A path that is not absolute is in the working directory. The environment
// is as os.Environ has it.
func (r *Rules) Obeyed(environ []string) error {
	for _, path := range r.Files {
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%w: %s", ErrSettings, path)
		}
	}
	for _, name := range r.Reads {
		if isOn(environ, name) {
			return fmt.Errorf("%w: %s is set", ErrSettings, name)
		}
	}
	if r.AtLoad == nil {
		return nil
	}
	return r.AtLoad.obeyed(isOn(environ, r.SwitchOn))
}

// ErrSettings is wrapped where a compiler obeys, or may obey, a file of settings.
var ErrSettings = errors.New("the compiler obeys a file of settings")

// ErrVariables is wrapped where variables changed behind a driver that may have read them.
var ErrVariables = errors.New("environment variables of the compiler changed since the driver was loaded")

// Environments are those of a process that matter to a driver, as os.Environ has them: what it
// was when the driver was loaded, and what it is.
type Environments struct {
	Loaded []string
	Now    func() []string
}

// Seen is what was seen, in a process, of what a driver obeys. Drivers read some variables once
// and others at each build, so which values hold is not known after a change.
type Seen struct {
	mu  sync.Mutex
	err error // why what was seen is not known to hold
}

// Steady returns the variables in environ that the driver obeys, with an error where they are not,
// or once were not, those at its load, or where there is, or was, a file of settings: the driver has
// read it by the next build, if it goes until then.
func (s *Seen) Steady(rules *Rules, environ []string, atLoad []key.Pair) (now []key.Pair, err error) {
	now = rules.Of(environ)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
	case !slices.Equal(now, atLoad):
		s.err = ErrVariables
	default:
		s.err = rules.Obeyed(environ)
	}
	return now, s.err
}
