package compile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/internal/pattern"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/worker"
)

// variables returns those of an environment that a traced compiler obeys.
func variables(environ []string) (pairs []key.Pair) {
	for _, v := range environ {
		if name, value, _ := strings.Cut(v, "="); isObeyed(name) {
			pairs = append(pairs, key.Pair{Name: name, Value: value})
		}
	}
	return pairs
}

func isObeyed(name string) bool {
	return strings.HasSuffix(name, "_ROOT") || slices.ContainsFunc(obeyed, func(begin string) bool { return strings.HasPrefix(name+"=", begin) })
}

// expansions are how nvcc.profile and GCC's specs name variables.
var expansions = pattern.Lazy(`(?:\$\(|getenv\()\s*([^\s()]*)`)

// readsVariables returns an error for a file of settings with a variable that is not known to be obeyed.
func readsVariables(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil // there is none, or who adds it to the key says so
	}
	for _, v := range expansions().FindAllSubmatch(text, -1) {
		if !isObeyed(string(v[1])) {
			return fmt.Errorf("%s has the variable %s", path, v[1])
		}
	}
	return nil
}

// preloads is what the file names of all that `kernstash run` preloads begin with.
const preloads = "libkernstash_"

// plain returns an environment without what has the cache serve the programs of a compiler.
func plain(environ []string) (rest []string) {
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		if name == worker.CommandVariable {
			continue
		}
		if name == "LD_PRELOAD" {
			libraries := strings.FieldsFunc(value, func(c rune) bool { return c == ':' || c == ' ' })
			others := slices.DeleteFunc(slices.Clone(libraries), func(path string) bool { return strings.HasPrefix(filepath.Base(path), preloads) })
			if len(others) == 0 {
				continue
			}
			if len(others) < len(libraries) {
				v = name + "=" + strings.Join(others, ":")
			}
		}
		rest = append(rest, v)
	}
	return rest
}
