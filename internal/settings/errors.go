package settings

import (
	"errors"
	"fmt"
)

// errElevated says why no variable counts.
var errElevated = errors.New("the program has rights that its user has not: " +
	"neither the environment nor the user's settings file is looked at")

// Error is a setting that cannot be used: its name, the value it was given,
// by whom, and what would have been accepted.
type Error struct {
	Name   string // as its origin calls it
	Value  string
	Origin Origin
	Want   string // completes "want …"; "" for a name that does not exist
}

func (e *Error) Error() string {
	if e.Want == "" {
		return fmt.Sprintf("setting %s (%v): there is no such setting", e.Name, e.Origin)
	}
	return fmt.Sprintf("setting %s=%s (%v): want %s", e.Name, shown(e.Value), e.Origin, e.Want)
}

// shown keeps a hostile or huge value from spoiling a message.
func shown(value string) string {
	const most = 80
	if len(value) > most {
		return fmt.Sprintf("%.*q… (%d bytes)", most, value, len(value))
	}
	return fmt.Sprintf("%q", value)
}

// FileError is a settings file that cannot be read at all.
type FileError struct {
	Path string
	Err  error
}

func (e *FileError) Error() string { return fmt.Sprintf("settings file %s: %v", e.Path, e.Err) }

func (e *FileError) Unwrap() error { return e.Err }
