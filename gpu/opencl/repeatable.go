package opencl

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kernstash/kernstash/gpu/opencl/internal/randomname"
)

// errRandomName is wrapped where a source ends with a constant of a random name, and it is not
// certain that the driver makes the same of the source whatever the name.
var errRandomName = errors.New("the source ends with a constant of a random name (pyopencl_defeat_cache_…)")

// EndsWithRandomName reports whether code ends with the constant of a random name that pyopencl
// adds. No two programs have the same one.
func EndsWithRandomName(code []byte) bool {
	_, name := randomname.Cut(code)
	return name != ""
}

// Repeatable returns OpenCL C code with a fixed name in the place of the random one of the
// constant that pyopencl adds at its end; other code is returned as it is. The program of what
// is returned differs from that of code in nothing that a kernel, or a query of the program, can
// see: nothing refers to the constant. options are the words of the build's options. It is an
// error where that is not certain: for a driver of which it is not known, with options or
// variables that make a compiler look at what is not used, or where the name may be meant. Where
// code includes files, it is certain if checkFiles returns no error for the contents of all of
// them.
func (d *Device) Repeatable(code []byte, options []string) (fixed []byte, checkFiles func([][]byte) error, err error) {
	rest, name := randomname.Cut(code)
	if name == "" {
		return code, nil, nil
	}
	variables := d.Variables()
	if err := d.platform.driver().Repeats(d.asked(), variables); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errRandomName, err)
	}
	for _, v := range variables {
		if randomname.HasOption(v.Value) {
			return nil, nil, fmt.Errorf("%w, and the variable %s is set", errRandomName, v.Name)
		}
	}
	if err := randomname.CheckOptions(options); err != nil {
		return nil, nil, fmt.Errorf("%w, %w", errRandomName, err)
	}
	check := randomname.Checker(name, rest, []byte(strings.Join(options, " ")))
	checkFiles = func(files [][]byte) error {
		if err := check(files); err != nil {
			return fmt.Errorf("%w, %w", errRandomName, err)
		}
		return nil
	}
	return randomname.Fix(rest), checkFiles, checkFiles(nil)
}
