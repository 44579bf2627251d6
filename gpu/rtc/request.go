package rtc

import "github.com/kernstash/kernstash/key"

// Request is what to compile. It must not be changed while it is in use.
type Request struct {
	// Source is the program's text, up to its first NUL.
	Source []byte `json:"-"`

	// Name is what the library calls the program in messages and in debug
	// information, and in whose directory it looks for #include "…"; "" gives it
	// none, as C's NULL does.
	Name string `json:"name"`

	// Headers are included by name, in memory: the library takes one of these
	// before any file.
	Headers []key.Header `json:"-"`

	// Options are given to the compiler one by one, in order.
	Options []string `json:"options"`

	// Expressions are name expressions, in the order in which they are added; the
	// Output tells what each is lowered to.
	Expressions []string `json:"expressions,omitempty"`
}
