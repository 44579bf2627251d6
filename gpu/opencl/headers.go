package opencl

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/deps"
)

// errHeaders is wrapped where it is not known where a driver looks for header
// files.
var errHeaders = errors.New("where this driver looks for header files was not found out")

// HeaderSearch is Device.HeaderSearch of one of the context's devices.
func (r *Runtime) HeaderSearch(device int, dir string, _ kernstash.Request) (deps.Search, error) {
	return r.context.devices[device].HeaderSearch(dir)
}

// HeaderSearch returns where the device's compiler looks for header files besides
// the directories of -I, while dir is the working directory. It is known for the
// drivers that it was found out of; the error says that this is another.
func (d *Device) HeaderSearch(dir string) (deps.Search, error) {
	for _, s := range searches {
		if d.platform.vendor() == s.vendor && strings.HasPrefix(d.Driver, s.driver) {
			return s.of(dir, d.platform.env)
		}
	}
	return deps.Search{}, fmt.Errorf("%s, driver %s: %w", d.platform.Name, d.Driver, errHeaders)
}

// searches were seen in the system calls of builds that look for headers in
// vain. TestHeaderSearch holds them.
var searches = []struct {
	vendor vendor
	driver string // beginning of the driver's version
	of     func(dir string, env environments) (deps.Search, error)
}{
	// PoCL writes the source to a file of a random name in its cache directory, and puts -I. in
	// front of the options.
	{pocl, "3.1", func(dir string, env environments) (deps.Search, error) {
		main, now := poclCache(env.loaded), poclCache(env.now())
		if main != now || !filepath.IsAbs(main) {
			return deps.Search{}, fmt.Errorf("PoCL's cache directory is %q or %q: %w", main, now, errHeaders)
		}
		return deps.Search{Main: main, Unnamed: true, First: []string{dir}}, nil
	}},
	// Intel's front end gives the source a name without a directory, puts the
	// working directory behind those of the options, and leaves clang's own:
	// the one in the middle is that of a compiler without a place of its own.
	{intel, "22.43.", func(dir string, _ environments) (deps.Search, error) {
		return deps.Search{
			Main: dir, Last: []string{dir},
			System: []string{"/usr/local/include", filepath.Join(dir, "include"), "/usr/include"},
		}, nil
	}},
}

// poclCache returns PoCL's cache directory in an environment.
func poclCache(environ []string) string {
	get := func(name string) string {
		for _, e := range environ {
			if n, v, _ := strings.Cut(e, "="); n == name {
				return v
			}
		}
		return ""
	}
	switch {
	case get("POCL_CACHE_DIR") != "":
		return filepath.Clean(get("POCL_CACHE_DIR"))
	case get("XDG_CACHE_HOME") != "":
		return filepath.Join(get("XDG_CACHE_HOME"), "pocl/kcache")
	case get("HOME") != "":
		return filepath.Join(get("HOME"), ".cache/pocl/kcache")
	}
	return "/tmp/pocl/kcache"
}
