//go:build linux

package stage

import (
	"bytes"
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
	if built, err = os.MkdirTemp("", "kernstash-shim"); err == nil {
		defer os.RemoveAll(built)
		err = prepare()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return cbuild.Main(m)
}

func prepare() (err error) {
	if root, err = cbuild.Root(); err != nil {
		return err
	}
	// Results of tests are kept for what they have read: this, and what cbuild reads of shim.
	if _, err := os.ReadFile(filepath.Join(root, "capi", "kernstash_front.h")); err != nil {
		return err
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
	linked  = []string{"$DIR/" + Shim, "$DIR/libfakecl.so", "-Wl,-rpath,$DIR"}
	fakes   = []string{"libkernstash.so.1", "libfakecl.so"}
	opening = []string{"-include", "$DATA/opened.h"}
)

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
	if name == "kernstash" {
		return cbuild.Command(Built(name))
	}
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
	if out, err := exec.Command(cbuild.CC(), args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", cbuild.CC(), strings.Join(args, " "), err, out)
	}
	return nil
}

// Command builds the command kernstash, once, and returns its path.
func Command(t testing.TB) string {
	t.Helper()
	return Program(t, "kernstash")
}

var interposers = sync.OnceValues(func() (old string, err error) {
	if err := cbuild.Shim("preload", Interposer, built); err != nil {
		return "", err
	}
	b, err := os.ReadFile("/usr/lib/x86_64-linux-gnu/libOpenCL.so.1")
	if err != nil {
		return "", err
	}
	old = Built("old")
	if err := os.Mkdir(old, 0o700); err != nil {
		return "", err
	}
	b = bytes.ReplaceAll(b, []byte("OPENCL_LAYERS\x00"), []byte("OPENCL_NOBODY\x00"))
	return old, os.WriteFile(Built("old/libOpenCL.so.1"), b, 0o700)
})

// Interposers builds Interposer, beside each build of the shim; and a loader that knows no layers:
// this machine's, which is to look at another variable. It returns the folder of that.
func Interposers(t testing.TB) (old string) {
	t.Helper()
	old, err := interposers()
	if err != nil {
		t.Fatal(err)
	}
	return old
}

// Preloaded is the environment of `kernstash run` where it has chosen a front end, with the fake
// library unless WithLibrary names another. It needs Interposers.
func Preloaded(t testing.TB, frontEnd string) []string {
	t.Helper()
	Program(t, "libkernstash.so.1")
	env := []string{"KERNSTASH_INJECT=" + frontEnd}
	switch frontEnd {
	case "preload":
		return append(env, "LD_PRELOAD="+Built(Shim)+":"+Built(Interposer))
	case "auto":
		return append(env, "LD_PRELOAD="+Built(Shim)+":"+Built(Interposer), "OPENCL_LAYERS="+Built(Shim))
	}
	return append(env, "LD_PRELOAD="+Built(Interposer), "OPENCL_LAYERS="+Built(Shim))
}

// Opened says to a program which library to open, and how; see testdata/opened.h.
func Opened(library, how string) []string { return []string{"OPENED=" + library, "OPENED_HOW=" + how} }
