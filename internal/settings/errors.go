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
	Meant  string // the name that a name which does not exist is likely to mean; "" for none
	Effect string // what follows, as "the cache is off"; "": nothing does
}

func (e *Error) Error() string {
	var text string
	if e.Want == "" {
		text = fmt.Sprintf("setting %s (%v): there is no such setting", e.Name, e.Origin)
	} else {
		text = fmt.Sprintf("setting %s=%s (%v): want %s", e.Name, shown(e.Value), e.Origin, e.Want)
	}
	if e.Meant != "" {
		text += ", is it " + e.Meant + "?"
	}
	return withEffect(text, e.Effect)
}

func withEffect(text, effect string) string {
	if effect == "" {
		return text
	}
	return text + "; " + effect
}

// Loud reports whether a warning is of something that changes what the cache does, so
// that it has to be said where nobody asked for it.
func Loud(warning error) bool {
	var value *Error
	var file *FileError
	return errors.As(warning, &value) && value.Effect != "" || errors.As(warning, &file) && file.Effect != ""
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
	Path   string
	Err    error
	Effect string // what follows, as "the cache is off"; "": nothing does
}

func (e *FileError) Error() string {
	return withEffect(fmt.Sprintf("settings file %s: %v", e.Path, e.Err), e.Effect)
}

func (e *FileError) Unwrap() error { return e.Err }

// forgetEffect makes an error one that says nothing of what follows.
func forgetEffect(err error) {
	switch err := err.(type) {
	case *Error:
		err.Effect = ""
	case *FileError:
		err.Effect = ""
	}
}
