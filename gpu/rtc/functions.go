package rtc

import (
	"fmt"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
)

// functions are those of a library, by their names without its prefix; 0: it has none.
type functions map[string]dl.Func

// Every library has the functions that are required; the others it may have.
var (
	required = []string{
		"Version", "GetErrorString", "CreateProgram", "DestroyProgram", "CompileProgram", "GetProgramLogSize", "GetProgramLog",
	}
	optional = []string{"GetNumSupportedArchs", "GetSupportedArchs", "AddNameExpression", "GetLoweredName"}
)

func findFunctions(prefix string, symbol func(name string) uintptr) (functions, error) {
	all := make(functions)
	find := func(name string) bool {
		all[name] = dl.Func(symbol(prefix + name))
		return all[name] != 0
	}
	for _, name := range required {
		if !find(name) {
			return nil, fmt.Errorf("%s: %w", prefix+name, ErrMissing)
		}
	}
	for _, name := range optional {
		find(name)
	}
	some := false
	for _, name := range formFunctions {
		some = find("Get"+name) && find("Get"+name+"Size") || some
	}
	if !some {
		return nil, fmt.Errorf("functions that give code: %w", ErrMissing)
	}
	return all, nil
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
	if text := l.fn["GetErrorString"].Call(uintptr(code)); text != 0 {
		c.Text = dl.String(text)
	}
	return c
}

// pointers returns an array of pointers to C strings; keep is what must outlive
// its use. The pointers are pinned by pin.
func pointers(pin interface{ Pin(any) }, texts []string) []unsafe.Pointer {
	list := make([]unsafe.Pointer, len(texts)+1) // so that there is a first one
	for i, s := range texts {
		b := dl.CString(s)
		pin.Pin(&b[0])
		list[i] = unsafe.Pointer(&b[0])
	}
	return list
}
