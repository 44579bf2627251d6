package rtc

import (
	"fmt"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
)

// functions are those of a library; 0: it has none.
type functions struct {
	version, errorString           dl.Func
	archCount, archs               dl.Func
	create, destroy, addExpression dl.Func
	compile                        dl.Func
	logSize, log, lowered          dl.Func
	sizes, gets                    [numForms]dl.Func
}

func (f *functions) find(prefix string, symbol func(name string) uintptr) error {
	for _, s := range []struct {
		to       *dl.Func
		name     string
		required bool
	}{
		{&f.version, "Version", true},
		{&f.errorString, "GetErrorString", true},
		{&f.archCount, "GetNumSupportedArchs", false},
		{&f.archs, "GetSupportedArchs", false},
		{&f.create, "CreateProgram", true},
		{&f.destroy, "DestroyProgram", true},
		{&f.addExpression, "AddNameExpression", false},
		{&f.compile, "CompileProgram", true},
		{&f.logSize, "GetProgramLogSize", true},
		{&f.log, "GetProgramLog", true},
		{&f.lowered, "GetLoweredName", false},
	} {
		*s.to = dl.Func(symbol(prefix + s.name))
		if *s.to == 0 && s.required {
			return fmt.Errorf("%s: %w", prefix+s.name, ErrMissing)
		}
	}
	some := false
	for form, name := range formFunctions {
		if name == "" {
			continue
		}
		get, size := dl.Func(symbol(prefix+"Get"+name)), dl.Func(symbol(prefix+"Get"+name+"Size"))
		if get != 0 && size != 0 {
			f.gets[form], f.sizes[form], some = get, size, true
		}
	}
	if !some {
		return fmt.Errorf("functions that give code: %w", ErrMissing)
	}
	return nil
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
	if text := l.fn.errorString.Call(uintptr(code)); text != 0 {
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
