package launch

import (
	"fmt"
	"path/filepath"
	"strings"
)

// What Triton asks which class manages its cache, and what our package has to offer.
const (
	tritonVariable = "TRITON_CACHE_MANAGER"
	tritonManager  = "kernstash.triton:CacheManager"
)

// Triton returns the variables that have Triton use the cache, beside what an environment has
// already. It is an error that the package in Python is not there, that its path fits into no
// variable, or that Triton has another manager.
func (l Libraries) Triton(env []string) ([]Variable, error) {
	e := environ(env)
	if manager := e.get(tritonVariable); manager != "" && manager != tritonManager {
		return nil, fmt.Errorf("Triton goes without the cache: %s=%s is left alone", tritonVariable, manager)
	}
	dirs := pythonDirs(filepath.Dir(l.Layer))
	for _, dir := range dirs {
		switch {
		case !isFile(filepath.Join(dir, "kernstash", "triton.py")):
		case strings.ContainsRune(dir, ':'):
			return nil, fmt.Errorf("Triton goes without the cache: PYTHONPATH takes no path with a colon: %s", dir)
		default: // behind the user's, so that nothing of theirs is hidden
			return []Variable{{"PYTHONPATH", last(e.get("PYTHONPATH"), dir, ":")}, {tritonVariable, tritonManager}}, nil
		}
	}
	return nil, fmt.Errorf("Triton goes without the cache: kernstash/triton.py is in none of %s", strings.Join(dirs, ", "))
}

// pythonDirs are where the package lies when it is installed, and in a build tree.
func pythonDirs(libraries string) []string {
	return []string{filepath.Join(libraries, "python"), filepath.Join(libraries, "..", "python")}
}
