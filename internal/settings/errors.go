package settings

import (
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
)

// errElevated says why no variable counts.
var errElevated = errors.New("the program has rights that its user has not: " +
	"neither the environment nor the user's settings file is looked at")

// Error is a setting that cannot be used: its name, the value it was given,
// by whom, and what would have been accepted; or a settings file that cannot be read at all.
type Error struct {
	Name   string // as its origin calls it
	Value  string
	Origin Origin
	Want   string // completes "want …"; "" for a name that does not exist
	Meant  string // the name that a name which does not exist is likely to mean; "" for none
	Effect string // what follows, as "the cache is off"; "": nothing does
	Err    error  // of a file, which the Origin names: nothing but the Effect is said besides
}

func (e *Error) Error() string {
	var text string
	switch {
	case e.Err != nil:
		text = fmt.Sprintf("settings file %s: %v", e.Origin.Path, e.Err)
	case e.Want == "":
		text = fmt.Sprintf("setting %s (%v): there is no such setting", e.Name, e.Origin)
	default:
		text = fmt.Sprintf("setting %s=%s (%v): want %s", e.Name, shown(e.Value), e.Origin, e.Want)
	}
	if e.Meant != "" {
		text += ", is it " + e.Meant + "?"
	}
	if e.Effect != "" {
		text += "; " + e.Effect
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// shown keeps a hostile or huge value from spoiling a message.
func shown(value string) string {
	const most = 80
	if len(value) > most {
		return fmt.Sprintf("%.*q… (%d bytes)", most, value, len(value))
	}
	return fmt.Sprintf("%q", value)
}

// Said is a variable with which a process says that what cannot be used of the settings
// was said: those that it starts need not say it again.
const Said = prefix + "SAID"

// Unsaid returns the warnings of what changes what the cache does, which have to be said
// where nobody asked for them, unless a process that started this one has said them.
func (s *Settings) Unsaid() []error {
	if s.said == s.SaidValue() {
		return nil
	}
	return s.loud()
}

// loud returns the warnings that Unsaid does, whoever has said them.
func (s *Settings) loud() (all []error) {
	for _, w := range s.Warnings {
		if bad, ok := w.(*Error); ok && bad.Effect != "" {
			all = append(all, w)
		}
	}
	return all
}

// SaidValue returns the value that Said has after the warnings were said; "" if there
// are none.
func (s *Settings) SaidValue() string {
	all := s.loud()
	if len(all) == 0 {
		return ""
	}
	// `kernstash run` starts faster without the packages that cryptography brings along.
	h := fnv.New64a()
	for _, w := range all {
		h.Write([]byte(w.Error()))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))
}
