package settings

import (
	"path/filepath"
	"runtime"
	"strings"
)

// environment looks variables up in a list of NAME=value; the first of a name
// counts, as it does for getenv. On Windows names are the same in capitals.
type environment []string

func (e environment) lookup(name string) (string, bool) { return e.lookupOn(runtime.GOOS, name) }

func (e environment) lookupOn(goos, name string) (string, bool) {
	for _, kv := range e {
		if k, v, ok := strings.Cut(kv, "="); ok && (k == name || goos == "windows" && strings.EqualFold(k, name)) {
			return v, true
		}
	}
	return "", false
}

func (e environment) get(name string) string {
	v, _ := e.lookup(name)
	return v
}

// withRights returns what a program with rights beyond its user's may know:
// that it is to do nothing.
func (e environment) withRights() environment {
	if v, ok := e.lookup(disableVariable); ok {
		return environment{disableVariable + "=" + v}
	}
	return environment{}
}

// place returns what is below the directory that a variable names or below the
// home directory, "" where neither is known. A relative directory counts as
// none, as the XDG specification has it.
func (e environment) place(goos, variable string, below ...string) string {
	const app = "kernstash"
	if goos == "windows" {
		if dir, _ := e.lookupOn(goos, "LocalAppData"); dir != "" {
			return filepath.Join(dir, app)
		}
		return ""
	}
	if dir := e.get(variable); filepath.IsAbs(dir) {
		return filepath.Join(dir, app)
	}
	if home := e.get("HOME"); filepath.IsAbs(home) {
		return filepath.Join(append(append([]string{home}, below...), app)...)
	}
	return ""
}

// expand replaces a leading ~/ in a path from a file, where no shell does it.
func (e environment) expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home := e.get("HOME"); home != "" {
			return filepath.Join(home, rest)
		}
	}
	return path
}
