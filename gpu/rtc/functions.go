package rtc

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
)

// required are the functions that every library has; others it may have.
var required = []string{
	"Version", "GetErrorString", "CreateProgram", "DestroyProgram", "CompileProgram", "GetProgramLogSize", "GetProgramLog",
}

// hasFunctions says whether the library has what a compile takes.
func (l *Library) hasFunctions() error {
	for _, name := range required {
		if l.fn(name) == 0 {
			return fmt.Errorf("%s: %w", l.d.prefix+name, ErrMissing)
		}
	}
	for _, name := range formFunctions {
		if l.fn("Get"+name) != 0 && l.fn("Get"+name+"Size") != 0 {
			return nil
		}
	}
	return fmt.Errorf("functions that give code: %w", ErrMissing)
}

// call returns the code of a function of C, which is an int. As for [dl.Func.Call],
// a Go pointer is converted in the argument list.
//
//go:uintptrescapes
func call(f dl.Func, args ...uintptr) int { return int(int32(f.Call(args...))) }

// Error is an error code of a library.
type Error struct {
	API    API
	Number int
	Text   string // what the library calls it: "NVRTC_ERROR_COMPILATION"
}

func (c *Error) Error() string { return fmt.Sprintf("%s (%d)", c.Text, c.Number) }

// failure returns the error of a code.
func (l *Library) failure(code int) error {
	c := &Error{API: l.api, Number: code, Text: l.d.platform + " error"}
	if text := l.fn("GetErrorString").Call(uintptr(code)); text != 0 {
		c.Text = dl.String(text)
	}
	return c
}

// pointers returns an array of pointers to C strings, which are pinned by pin.
func pointers(pin *runtime.Pinner, texts []string) []unsafe.Pointer {
	list := make([]unsafe.Pointer, len(texts)+1) // so that there is a first one
	for i, s := range texts {
		b := dl.CString(s)
		pin.Pin(&b[0])
		list[i] = unsafe.Pointer(&b[0])
	}
	return list
}
