package cl

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
)

// firstGuess is large enough for nearly every answer, so that most queries are
// one call; the longest usual one is an extension list of about 1.5 KB.
const firstGuess = 256

// Info asks a clGet…Info function whose arguments are one or two objects, the
// parameter, a size, a value and the value's size. It returns the value.
func Info(name string, param uint32, objects ...uintptr) ([]byte, error) {
	return info(name, 0, param, objects)
}

// info is Info of the function at an address; 0: of the loader's.
func info(name string, f dl.Func, param uint32, objects []uintptr) (b []byte, err error) {
	if f == 0 {
		if f, err = functions.Find(name); err != nil {
			return nil, err
		}
	}
	b = make([]byte, firstGuess)
	n, err := ask(name, f, objects, param, b)
	if errors.Is(err, InvalidValue) {
		if n, err = ask(name, f, objects, param, nil); err != nil {
			return nil, err
		}
		b = make([]byte, n)
		n, err = ask(name, f, objects, param, b)
	}
	if err != nil {
		return nil, err
	}
	return b[:min(n, len(b))], nil
}

// ask makes one call; b may be nil, to learn the size alone.
func ask(name string, f dl.Func, objects []uintptr, param uint32, b []byte) (int, error) {
	var n, status uintptr
	p, size := unsafe.Pointer(unsafe.SliceData(b)), uintptr(len(b))
	if len(objects) == 1 {
		status = f.Call(objects[0], uintptr(param), size, uintptr(p), uintptr(unsafe.Pointer(&n)))
	} else {
		status = f.Call(objects[0], objects[1], uintptr(param), size, uintptr(p), uintptr(unsafe.Pointer(&n)))
	}
	return int(n), check(name, Code(int32(status)))
}

// ids asks a function that lists objects: capacity, objects, count. Listing
// none is not an error here.
func ids[T ~uintptr](none Code, list func(n int, first unsafe.Pointer, count *uint32) error) ([]T, error) {
	var n uint32
	err := list(0, nil, &n)
	if errors.Is(err, none) || err == nil && n == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := make([]T, n)
	if err := list(len(out), unsafe.Pointer(&out[0]), &n); err != nil {
		return nil, err
	}
	return out[:min(int(n), len(out))], nil
}

// Addr returns the address of a slice's first element, nil for none.
func Addr[T any](s []T) unsafe.Pointer {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Pointer(&s[0])
}

// optional returns s as a C string, or nil for a nil pointer.
func optional(s *string) []byte {
	if s == nil {
		return nil
	}
	return dl.CString(*s)
}

// Text reads a string that a driver gave; an error makes it empty, as a query
// that a driver does not know is not a failure of what asks.
func Text(b []byte, err error) string {
	if err != nil {
		return ""
	}
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(bytes.TrimSpace(b))
}

// Number reads an unsigned integer of 4 or 8 bytes; ok is false where the driver did not give one.
func Number(b []byte, err error) (n uint64, ok bool) {
	switch {
	case err != nil:
		return 0, false
	case len(b) == 4:
		return uint64(binary.NativeEndian.Uint32(b)), true
	case len(b) == 8:
		return binary.NativeEndian.Uint64(b), true
	}
	return 0, false
}

// Numbers reads an array of size_t or of handles.
func Numbers(b []byte, err error) []uintptr {
	if err != nil {
		return nil
	}
	var w []uintptr
	for ; len(b) >= 8; b = b[8:] {
		w = append(w, uintptr(binary.NativeEndian.Uint64(b)))
	}
	return w
}

// Sizes reads the first three of an array of size_t.
func Sizes(b []byte, err error) (sizes [3]int) {
	for i, n := range Numbers(b, err) {
		if i < len(sizes) {
			sizes[i] = int(n)
		}
	}
	return sizes
}

// listing serializes what makes drivers find their devices: of goroutines that ask PoCL 3.1 first
// at the same time, all but one are told that there are none.
var listing sync.Mutex

// GetPlatformIDs returns all platforms; none is not an error.
func GetPlatformIDs() ([]PlatformID, error) {
	listing.Lock()
	defer listing.Unlock()
	return ids[PlatformID](PlatformNotFoundKHR, func(n int, first unsafe.Pointer, count *uint32) error {
		return Status("clGetPlatformIDs", uintptr(n), uintptr(first), uintptr(unsafe.Pointer(count)))
	})
}

// Queries tell what platforms and devices are: those of one driver, at two addresses, or the
// loader's, at 0.
type Queries struct{ platform, device dl.Func }

// Loader are the loader's.
var Loader = new(Queries)

// Driver are those at two addresses.
func Driver(getPlatformInfo, getDeviceInfo uintptr) *Queries {
	return &Queries{dl.Func(getPlatformInfo), dl.Func(getDeviceInfo)}
}

// Platform is clGetPlatformInfo: it returns the value of a parameter.
func (q *Queries) Platform(p PlatformID, param uint32) ([]byte, error) {
	return info("clGetPlatformInfo", q.platform, param, []uintptr{uintptr(p)})
}

// Device is clGetDeviceInfo: it returns the value of a parameter.
func (q *Queries) Device(d DeviceID, param uint32) ([]byte, error) {
	return info("clGetDeviceInfo", q.device, param, []uintptr{uintptr(d)})
}

// GetDeviceIDs returns the devices of a type; none is not an error.
func GetDeviceIDs(p PlatformID, kind uint64) ([]DeviceID, error) {
	listing.Lock()
	defer listing.Unlock()
	return ids[DeviceID](DeviceNotFound, func(n int, first unsafe.Pointer, count *uint32) error {
		return Status("clGetDeviceIDs", uintptr(p), uintptr(kind), uintptr(n), uintptr(first), uintptr(unsafe.Pointer(count)))
	})
}

// CreateSubDevices returns the parts of a device. Properties end with zero.
func CreateSubDevices(d DeviceID, properties []uintptr) ([]DeviceID, error) {
	return ids[DeviceID](Success, func(n int, first unsafe.Pointer, count *uint32) error {
		return Status("clCreateSubDevices", uintptr(d), uintptr(Addr(properties)), uintptr(n), uintptr(first), uintptr(unsafe.Pointer(count)))
	})
}
