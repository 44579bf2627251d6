//go:build linux

package stage

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kernstash/kernstash/internal/cbuild"
	"github.com/kernstash/kernstash/internal/timing"
)

// The names of the libraries that Main builds.
const (
	Shim       = "libkernstash_opencl_layer.so" // as its Makefile makes it
	Interposer = "libkernstash_preload.so"      // what takes part in dlsym
)

// built is the folder of all that is built, of one process of tests; root is the module's.
var built, root string

// Sanitizers returns the folders of the builds of the shim, and of the programs that are
// linked with it: as it is installed, and in the long tests two that look for errors of memory
// and of threads.
func Sanitizers() []string {
	if !timing.IsLong() {
		return []string{"."}
	}
	return []string{".", "asan", "tsan"}
}

var sanitizers = map[string][]string{
	"asan": {"-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer"},
	"tsan": {"-fsanitize=thread", "-fno-omit-frame-pointer"},
}

// Main is cbuild.Main, with the builds of the shim there.
func Main(m *testing.M) int {
	var err error
	if built, err = os.MkdirTemp("", "kernstash-shim"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(built)
	if err := prepare(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return cbuild.Main(m)
}

func prepare() (err error) {
	if root, err = cbuild.Root(); err != nil {
		return err
	}
	// What is read here is looked at by those who keep results of tests.
	for _, pattern := range []string{
		"shim/opencl/Makefile", "shim/shim.mk", "shim/opencl/src/*.[ch]", "shim/opencl/*.h", "shim/opencl/testdata/*.[ch]", "shim/testdata/*.h",
		"shim/library/*.[ch]", "capi/kernstash_front.h",
	} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		for _, name := range names {
			if _, err := os.ReadFile(name); err != nil {
				return err
			}
		}
		if err != nil || len(names) == 0 {
			return fmt.Errorf("no %s: %w", pattern, err)
		}
	}
	return cbuild.Shim("opencl", Shim, built)
}

// Built is the path of a library of the shim, in the folder of one of Sanitizers where
// name begins with that.
func Built(name string) string { return filepath.Join(built, name) }

// target is what is compiled of testdata, with flags; $DIR in them is the folder of the
// shim, $DATA that of the sources.
type target struct {
	source string
	flags  []string
	needs  []string // targets that have to be there
}

var (
	shared  = []string{"-shared", "-fPIC", "-fvisibility=hidden"}
	linked  = linkedWith("libfakecl.so")
	fakes   = []string{"libkernstash.so.1", "libfakecl.so"}
	opening = []string{"-include", "$DATA/opened.h"}
)

// linkedWith are the flags of a program with a driver behind the shim.
func linkedWith(driver string) []string {
	return []string{"$DIR/" + Shim, "$DIR/" + driver, "-Wl,-rpath,$DIR"}
}

var targets = map[string]target{
	// A shim opens the library beside it. The fake driver is not linked to by its name, so
	// that no real loader is taken for it.
	"libkernstash.so.1": {"fake_library", shared, nil},
	"libfakecl.so":      {"fake_driver", shared, nil},
	"stress":            {"stress", linked, fakes},
	"crashes":           {"crashes", linked, fakes},

	// What stands between the shim and the driver, and is linked to the driver.
	"libbetween.so":  {"between", append([]string{"-Wl,--no-as-needed,-rpath,$DIR", "$DIR/libfakecl.so"}, shared...), fakes},
	"stress-between": {"stress", append([]string{"-Wl,--no-as-needed", "$DIR/" + Shim, "$DIR/libbetween.so"}, linked[1:]...), []string{"libbetween.so"}},

	// The fake driver as no driver, of the same size; what opens both.
	"libnodriver.so": {"fake_driver", append([]string{"-DclIcdGetPlatformIDsKHR=clIcdGetPlatformIDsNNN"}, shared...), nil},
	"replaced":       {"replaced", []string{"-ldl"}, append([]string{"libnodriver.so"}, fakes...)},

	"late": {"late", append([]string{"-lm"}, linked...), fakes},

	"loader": {"loader", []string{"-ldl"}, fakes},

	"host":           {"host", []string{"-ldl"}, []string{"host-plugin.so"}},
	"host-plugin.so": {"plugin", []string{"-shared", "-fPIC", "-lOpenCL"}, nil},
	"observe":        {"observe", []string{"-lOpenCL"}, nil},
	"file":           {"file", []string{"-lOpenCL"}, nil},
	"threads":        {"threads", []string{"-lOpenCL"}, nil},
	"units":          {"units", []string{"-lOpenCL"}, nil},
	"hits":           {"hits", []string{"-lOpenCL"}, nil},
	"delay":          {"delay", []string{"-lOpenCL", "-ldl"}, []string{"stopwatch.so"}},
	"appends.so":     {"appends", []string{"-shared", "-fPIC"}, nil},
	"stopwatch.so":   {"stopwatch", []string{"-shared", "-fPIC"}, nil},

	// They open a library by themselves; see testdata/opened.h.
	"observe-opened": {"observe", opening, nil},
	"observe-both":   {"observe", append([]string{"-Wl,--no-as-needed", "-lOpenCL"}, opening...), nil},
	"file-opened":    {"file", opening, nil},
	"stress-opened":  {"stress", append([]string{"$DATA/counts.c"}, opening...), fakes},
}

// made holds a name → func() error.
var made sync.Map

// Program returns the path of a program or a library of testdata, which it compiles at the
// first call, with what it needs. Before its name may stand one of Sanitizers: host,
// asan/stress. It may be called at the same time.
func Program(t testing.TB, name string) string {
	t.Helper()
	if err := compiled(name); err != nil {
		t.Fatal(err)
	}
	return Built(name)
}

func compiled(name string) error {
	name = filepath.Clean(name)
	once, _ := made.LoadOrStore(name, sync.OnceValue(func() error { return compile(name) }))
	return once.(func() error)()
}

func compile(name string) error {
	sanitizer := filepath.Dir(name)
	c, known := targets[filepath.Base(name)]
	if !known {
		return fmt.Errorf("%s is not among the programs of testdata", name)
	}
	for _, n := range c.needs {
		if err := compiled(filepath.Join(sanitizer, n)); err != nil {
			return err
		}
	}
	data := filepath.Join(root, "shim", "opencl", "testdata")
	args := []string{
		"-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O1", "-g", "-pthread",
		"-o", Built(name), filepath.Join(data, c.source+".c"),
	}
	args = append(append(args, sanitizers[sanitizer]...), c.flags...)
	for i, a := range args {
		args[i] = strings.NewReplacer("$DIR", filepath.Join(built, sanitizer), "$DATA", data).Replace(a)
	}
	return command(cbuild.CC(), args...)
}

func command(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

var commandBuilt = sync.OnceValue(func() error {
	return cbuild.Command(Built("kernstash"))
})

// Command builds the command kernstash, once, and returns its path.
func Command(t testing.TB) string {
	t.Helper()
	if err := commandBuilt(); err != nil {
		t.Fatal(err)
	}
	return Built("kernstash")
}
