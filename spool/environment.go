package spool

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/internal/drivers/variables"
	"github.com/kernstash/kernstash/key"
)

// Environment is what decides, outside of the recipe, which device and compiler
// an application meets. Workers build in the same one.
type Environment struct {
	// Variables are environment variables and their values, sorted by name:
	// those of Take, and those that the recipe has.
	Variables []key.Pair

	// Dir is the working directory, absolute; "" where it was not known. It is
	// in no fingerprint: what depends on it has another key.
	Dir string
}

// Take returns the environment of a process: of environ, as os.Environ returns
// it, what is decisive, and the variables of a recipe. dir is the working
// directory.
func Take(environ []string, r *key.Recipe, dir string) Environment {
	var pairs []key.Pair
	for _, e := range environ {
		if variables.Decides(e) {
			name, value, _ := strings.Cut(e, "=")
			pairs = append(pairs, key.Pair{Name: name, Value: value})
		}
	}
	if r != nil {
		pairs = append(pairs, r.Options.Variables...)
	}
	slices.SortStableFunc(pairs, func(a, b key.Pair) int { return strings.Compare(a.Name, b.Name) })
	pairs = slices.CompactFunc(pairs, func(a, b key.Pair) bool { return a.Name == b.Name })
	return Environment{Variables: pairs, Dir: dir}
}

// Fingerprint names the environment: equal ones share a worker's process.
func (e Environment) Fingerprint() string {
	h := sha256.New()
	h.Write([]byte("kernstash environment\x00"))
	for _, v := range e.environ() {
		fmt.Fprintf(h, "%d %s\n", len(v), v)
	}
	return key.Digest(h.Sum(nil)).Dir()
}

// environ returns the variables as NAME=value.
func (e Environment) environ() []string {
	all := make([]string, 0, len(e.Variables)+2) // room for what callers append
	for _, v := range e.Variables {
		all = append(all, v.Name+"="+v.Value)
	}
	return all
}

// maxEnvironment bounds the variables of a job.
const maxEnvironment = 1000

func (e Environment) check() error {
	if len(e.Variables) > maxEnvironment {
		return invalid("%d variables", len(e.Variables))
	}
	isWindows := len(e.Dir) > 2 && e.Dir[1] == ':' // a root may be shared with another system
	if e.Dir != "" && e.Dir[0] != '/' && !isWindows {
		return invalid("working directory %q", e.Dir)
	}
	for i, v := range e.Variables {
		if v.Name == "" || strings.Contains(v.Name, "=") || i > 0 && e.Variables[i-1].Name >= v.Name {
			return invalid("variable %q", v.Name)
		}
	}
	return nil
}
