package rtc

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/elfid"
	"github.com/kernstash/kernstash/key"
)

// API is one of the interfaces.
type API uint8

// The interfaces.
const (
	NVRTC     API = 1
	HIPRTC    API = 2
	NVJitLink API = 3
	LibNVVM   API = 4
)

// dialect is what the interfaces differ in.
type dialect struct {
	name     string // "nvrtc"
	platform string // for people
	kind     key.Kind
	prefix   string // of the functions
	sonames  []string

	links     bool              // programs are given inputs one by one: see inputs.go
	refusals  []int             // the codes with which it refuses a program, or its options
	functions map[string]string // those that are called otherwise than NVRTC's, without the prefix
}

var dialects = [...]dialect{
	NVRTC: {
		name: "nvrtc", platform: "NVRTC", kind: key.CUDACpp, prefix: "nvrtc", refusals: []int{codeCompilation, codeInvalidOption},
		sonames: []string{"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so.11.1", "libnvrtc.so.11.0"},
	},
	HIPRTC: {
		name: "hiprtc", platform: "HIPRTC", kind: key.HIPCpp, prefix: "hiprtc", refusals: []int{codeCompilation, codeInvalidOption},
		sonames: []string{
			"libhiprtc.so", "libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5",
			"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
		},
	},
	NVJitLink: {
		name: "nvjitlink", platform: "nvJitLink", prefix: "nvJitLink", links: true, refusals: []int{4, 5},
		sonames: []string{"libnvJitLink.so", "libnvJitLink.so.13", "libnvJitLink.so.12"},
		functions: map[string]string{
			"CreateProgram": "Create", "DestroyProgram": "Destroy", "CompileProgram": "Complete",
			"GetProgramLogSize": "GetInfoLogSize", "GetProgramLog": "GetInfoLog",
		},
	},
	LibNVVM: {
		name: "nvvm", platform: "libnvvm", prefix: "nvvm", links: true, refusals: []int{7, 9},
		sonames: []string{"libnvvm.so", "libnvvm.so.4"},
	},
}

// dialectOf returns what is particular to an API; nothing where there is no such API.
func dialectOf(a API) (d dialect) {
	if int(a) < len(dialects) {
		d = dialects[a]
	}
	return d
}

// function returns the name of a function that NVRTC calls nvrtc and name.
func (d dialect) function(name string) string { return d.prefix + cmp.Or(d.functions[name], name) }

func (a API) String() string { return dialectOf(a).name }

// IsAPI reports whether the API of a key.Device is one of this package.
func IsAPI(name string) bool {
	return name != "" && slices.ContainsFunc(dialects[:], func(d dialect) bool { return d.name == name })
}

// ErrNoLibrary is wrapped where no library can be opened.
var ErrNoLibrary = dl.ErrNoLibrary

// ErrMissing is wrapped where a library is too old for what is asked of it: it lacks a function.
var ErrMissing = errors.New("this library has no such function")

// ErrAPI is wrapped for an API that there is none of.
var ErrAPI = errors.New("no such API")

// Library is an open compiler library. It is safe for concurrent use, as the
// libraries are, and is never closed.
type Library struct {
	api   API
	d     dialect
	fn    func(name string) dl.Func // without its prefix; 0: it has none
	major int
	minor int

	path     string // of the file; "" if it is not known
	identity func() (key.Device, error)
	supports func() ([]int, error)
}

// Open opens the library at a path or by its soname, or, with "", the first that the dynamic linker
// finds of those that are known: the development name, then the newest. The error wraps
// ErrNoLibrary, or ErrMissing where what was opened has not what a compile takes.
func Open(api API, path string) (*Library, error) {
	d := dialectOf(api)
	if d.name == "" {
		return nil, fmt.Errorf("open compiler: %w: %d", ErrAPI, api)
	}
	names := d.sonames
	if path != "" {
		names = []string{path}
	}
	lib, err := dl.Open(names...)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", d.platform, err)
	}
	l, err := New(api, func(name string) uintptr {
		f, _ := lib.Symbol(name)
		return uintptr(f)
	})
	if err != nil {
		return nil, fmt.Errorf("open %s: %s: %w", d.platform, lib.Name(), err)
	}
	return l, nil
}

// New returns the Library whose functions symbol finds by their names, 0 where it
// has none, whenever they are needed: for those who have opened it themselves.
func New(api API, symbol func(name string) uintptr) (*Library, error) {
	l, err := newLibrary(api)
	if err != nil {
		return nil, err
	}
	l.fn = func(name string) dl.Func { return dl.Func(symbol(l.d.function(name))) }
	if err := l.hasFunctions(); err != nil {
		return nil, err
	}
	var major, minor int32
	if code := call(l.fn("Version"), uintptr(unsafe.Pointer(&major)), uintptr(unsafe.Pointer(&minor))); code != 0 {
		return nil, fmt.Errorf("%s: %w", l.d.prefix+"Version", l.failure(code))
	}
	l.major, l.minor = int(major), int(minor)
	l.findPath()
	return l, nil
}

// Loaded returns the Library that somebody else has loaded and calls: the one that
// the function at compile, its CompileProgram, is in. It says what the library is
// and makes requests of the core's for it; it cannot compile.
func Loaded(api API, compile uintptr, major, minor int) (*Library, error) {
	l, err := newLibrary(api)
	if err != nil {
		return nil, err
	}
	l.fn = func(name string) dl.Func {
		if name == "CompileProgram" {
			return dl.Func(compile)
		}
		return 0
	}
	l.major, l.minor = major, minor
	l.findPath()
	return l, nil
}

func newLibrary(api API) (*Library, error) {
	l := &Library{api: api, d: dialectOf(api)}
	if l.d.name == "" {
		return nil, fmt.Errorf("compiler: %w: %d", ErrAPI, api)
	}
	l.identity = sync.OnceValues(l.identify)
	l.supports = sync.OnceValues(l.supportedArchs)
	return l, nil
}

func (l *Library) findPath() {
	if at, ok := elfid.Loaded().Find(uintptr(l.fn("CompileProgram"))); ok {
		l.path = at.Path
	}
}

// API returns which interface it is.
func (l *Library) API() API { return l.api }

// Path returns the file that the library was loaded from; "" if that cannot be
// told, as where it has been replaced since.
func (l *Library) Path() string { return l.path }

// Version returns what the library calls its version: 11 and 8.
func (l *Library) Version() (major, minor int) { return l.major, l.minor }

// SupportedArchs returns the architectures that the library can compile for, as
// numbers: 90 for compute_90. The caller must not change them. ErrMissing: it
// does not tell (HIPRTC, and NVRTC before 11.2).
func (l *Library) SupportedArchs() ([]int, error) { return l.supports() }

func (l *Library) supportedArchs() ([]int, error) {
	count, list := l.fn("GetNumSupportedArchs"), l.fn("GetSupportedArchs")
	if count == 0 || list == 0 {
		return nil, fmt.Errorf("supported architectures: %w", ErrMissing)
	}
	var n int32
	if code := call(count, uintptr(unsafe.Pointer(&n))); code != 0 || n < 0 || n > 1024 {
		return nil, fmt.Errorf("supported architectures: %w", l.failure(code))
	}
	archs := make([]int32, max(n, 1))
	if code := call(list, uintptr(unsafe.Pointer(&archs[0]))); code != 0 {
		return nil, fmt.Errorf("supported architectures: %w", l.failure(code))
	}
	all := make([]int, n)
	for i := range all {
		all[i] = int(archs[i])
	}
	return all, nil
}

// Identify returns what decides how the library compiles: its version, and the build ids of the
// libraries that take part. The architecture is none of it: the options name that. An error says
// that this cannot be told, and nothing is to be cached.
func (l *Library) Identify() (key.Device, error) { return l.identity() }

// required are the functions that every library has; others it may have.
var required = []string{
	"Version", "GetErrorString", "CreateProgram", "DestroyProgram", "CompileProgram", "GetProgramLogSize", "GetProgramLog",
}

// hasFunctions reports whether the library has what a compile takes.
func (l *Library) hasFunctions() error {
	for _, name := range required {
		if l.fn(name) == 0 && (name != "GetErrorString" || l.api != NVJitLink) {
			return fmt.Errorf("%s: %w", l.d.function(name), ErrMissing)
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
	if f := l.fn("GetErrorString"); f != 0 {
		if text := f.Call(uintptr(code)); text != 0 {
			c.Text = dl.String(text)
		}
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
