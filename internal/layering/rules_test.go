package layering

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	maxPackageLines  = 3000
	maxEvictionLines = 1000
	maxRootFiles     = 15
	maxCycle         = 8
	maxPlaces        = 3
)

// order is the house from the top to the ground. Imports go down, or stay in
// one row. The longest prefix of a package's path decides.
var order = [][]string{
	{"cmd"},
	{"capi"},
	{"shim"},
	{"worker"},
	{"gpu"},
	{""}, // the root: the public API
	{"internal/inprocess"},
	{"internal/cache"},
	{"internal/live"},
	{"internal/engine"},
	{"internal/capability"},
	{"store/disk", "store/memory", "store/storetest", "store/tiered", "store/redis", "store/s3", "store/http", "store/remote", "bundle", "agent", "trust"},
	{"spool"},
	{"internal/format", "internal/records"},
	{"store"},
	{"deps", "internal/drivers"},
	{"key"},
	{"stats"},
	{"internal"},
	{"reason"},
}

// A rule finds what breaks it.
type rule struct {
	name   string
	broken func(h *house) []string
}

// rules are those of the house.
var rules = []rule{
	{"imports go down the floors", (*house).upwards},
	{"no package over 3,000 lines without tests", (*house).large},
	{"no more than 1,000 lines of eviction", (*house).eviction},
	{"no more than 15 files in the root", (*house).rootFiles},
	{"no more than 8 files in one cycle", (*house).cycles},
	{"nothing below cmd links os/exec but the worker", (*house).starters},
	{"nothing but cmd imports store/s3", (*house).clients},
	{"no mutable package-level hooks", (*house).hooks},
	{"a runtime is named outside its own folders in at most 3 files", (*house).named},
}

func TestRules(t *testing.T) {
	t.Parallel()
	h := theHouse(t)
	for _, r := range rules {
		t.Run(strings.ReplaceAll(r.name, " ", "_"), func(t *testing.T) {
			broken := r.broken(h)
			if len(broken) > 0 {
				t.Errorf("%s: broken in %d places:\n%s", r.name, len(broken), strings.Join(broken, "\n"))
			}
		})
	}
}

func (h *house) upwards() []string {
	row := func(path string) int {
		best, length := -1, -1
		for i, dirs := range order {
			for _, dir := range dirs {
				if (dir == "" && path == "" || dir != "" && under(path, dir)) && len(dir) > length {
					best, length = i, len(dir)
				}
			}
		}
		return best
	}
	found := make(map[string]bool)
	for _, p := range h.packages {
		for _, imported := range p.types.Imports() {
			if to, ours := within(imported.Path()); ours && row(to) < row(p.path) {
				found[fmt.Sprintf("%s imports %s", p.path, to)] = true
			}
		}
	}
	return sorted(found)
}

func (h *house) large() []string {
	found := make(map[string]bool)
	for path, n := range h.packageLines() {
		if n > maxPackageLines {
			found[fmt.Sprintf("%s: %d lines", path, n)] = true
		}
	}
	return sorted(found)
}

// eviction returns store/disk/evict, where it is too large.
func (h *house) eviction() []string {
	const path = "store/disk/evict"
	if n := h.packageLines()[path]; n == 0 || n > maxEvictionLines {
		return []string{fmt.Sprintf("%s: %d lines", path, n)}
	}
	return nil
}

// rootFiles returns the files of the public API, where there are too many.
func (h *house) rootFiles() []string {
	var found []string
	for file := range h.lines {
		if folder(file) == "" {
			found = append(found, file)
		}
	}
	if len(found) <= maxRootFiles {
		return nil
	}
	slices.Sort(found)
	return found
}

// cycles returns each file of a package's largest cycle, where that is too large.
func (h *house) cycles() []string {
	var found []string
	for _, p := range h.packages {
		if files := h.cycle(p); len(files) > maxCycle {
			for _, f := range files {
				found = append(found, filepath.Join(p.path, f))
			}
		}
	}
	return found
}

// starters returns the packages that link os/exec. The library of capi links
// the worker's starter. The client of store/s3 starts what AWS's configuration names as
// credential_process: clients sees to it that no application links it.
func (h *house) starters() []string {
	var found []string
	for _, p := range h.packages {
		may := under(p.path, "cmd") || under(p.path, "worker") || under(p.path, "capi") || p.path == "store/s3"
		if !may && slices.Contains(p.deps, "os/exec") {
			found = append(found, p.path)
		}
	}
	return found
}

// clients returns the packages below cmd that link store/s3.
func (h *house) clients() []string {
	var found []string
	for _, p := range h.packages {
		if !under(p.path, "cmd") && slices.Contains(p.deps, module+"/store/s3") {
			found = append(found, p.path)
		}
	}
	return found
}

func (h *house) named() []string {
	var found []string
	for _, r := range runtimes {
		if places := h.places(r); len(places) > maxPlaces {
			for _, p := range places {
				found = append(found, r.name+": "+p)
			}
		}
	}
	return found
}
