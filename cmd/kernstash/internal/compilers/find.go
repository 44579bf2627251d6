// Package compilers finds the compilers that are programs, and stands before those in PATH by links of
// their names.
package compilers

import (
	"context"
	"debug/elf"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/compile"
	"github.com/kernstash/kernstash/internal/pattern"
	"github.com/kernstash/kernstash/internal/settings"
)

// Compiler is one that was found.
type Compiler struct {
	Name    string   `json:"name"`
	Path    string   `json:"path"`
	Version string   `json:"version,omitempty"`
	Found   []string `json:"found"`              // where: in PATH, by a variable, in a directory
	Reached []string `json:"reached"`            // how its runs come to the cache; empty: not at all
	Why     string   `json:"unserved,omitempty"` // why not
}

// search is what is looked through, and what was found.
type search struct {
	getenv func(string) string
	root   string // of directories that no variable names
	found  []*Compiler
}

// Find returns the compilers of this environment. preloads is whether a command can be preloaded into.
func Find(ctx context.Context, s *settings.Settings, preloads bool) []*Compiler {
	f := &search{getenv: os.Getenv}
	f.all(preloads)
	var asked sync.WaitGroup
	for _, c := range f.found {
		switch {
		case s.Disable:
			c.Reached, c.Why = []string{}, "the cache is switched off (setting disable)"
		case !s.Compilers:
			c.Reached, c.Why = []string{}, "compilers are left alone (setting compilers)"
		}
		if isELF(c.Path) {
			asked.Go(func() { c.Version = version(ctx, c.Path) })
		}
	}
	asked.Wait()
	return f.found
}

func (f *search) all(preloads bool) {
	for _, name := range compile.Names() {
		link := ""
		for _, dir := range filepath.SplitList(f.getenv("PATH")) {
			path := filepath.Join(dir, name)
			if info, err := os.Stat(path); err != nil || info.IsDir() {
				continue
			}
			if isOurs(path) {
				link = path
				continue
			}
			if c := f.add(name, path, "PATH"); link != "" && c.Why == "" {
				c.Reached = append(c.Reached, "link "+link)
				link = ""
			}
		}
	}
	for _, v := range compile.Variables {
		f.variable(v)
	}
	for _, v := range compile.Homes {
		if dir := f.getenv(v); dir != "" {
			f.in(v, filepath.Join(dir, "bin"))
		}
	}
	for _, dir := range globs(f.root, compile.Directories...) {
		f.in(dir, dir)
	}
	for _, site := range f.sites() {
		f.in(site, globs(site, compile.Packages...)...)
	}
	for _, c := range f.found {
		if c.Why == "" && preloads {
			c.Reached = append([]string{"run"}, c.Reached...)
		}
		if c.Why == "" && len(c.Reached) == 0 {
			c.Why = "nothing can be preloaded here"
		}
	}
}

// variable adds the compiler that a variable names, and says whether it is started through the command.
func (f *search) variable(v string) {
	words := strings.Fields(f.getenv(v))
	i := slices.IndexFunc(words, func(word string) bool { return slices.Contains(compile.Names(), filepath.Base(word)) })
	if i < 0 {
		return
	}
	path := words[i]
	if !strings.ContainsRune(path, '/') {
		var err error
		if path, err = exec.LookPath(path); err != nil {
			return
		}
	}
	c := f.add(filepath.Base(path), path, v)
	if c.Why == "" && slices.Contains(words[:i], "compile") && isOurs(words[0]) {
		c.Reached = append(c.Reached, "variable "+v)
	}
}

// in adds the compilers in directories.
func (f *search) in(found string, dirs ...string) {
	for _, dir := range dirs {
		for _, name := range compile.Names() {
			if path := filepath.Join(dir, name); isThere(path) {
				f.add(name, path, found)
			}
		}
	}
}

// sites are the directories of packages of the user's Python: of an environment that is active, and of
// the interpreter in PATH. None is started.
func (f *search) sites() (sites []string) {
	prefixes := []string{f.getenv("VIRTUAL_ENV"), f.getenv("CONDA_PREFIX")}
	if python, err := exec.LookPath("python3"); err == nil {
		prefix := filepath.Dir(filepath.Dir(python))
		if real, err := filepath.EvalSymlinks(python); err == nil && !isThere(filepath.Join(prefix, "pyvenv.cfg")) {
			prefix = filepath.Dir(filepath.Dir(real))
		}
		prefixes = append(prefixes, prefix)
	}
	if home := f.getenv("HOME"); home != "" {
		prefixes = append(prefixes, filepath.Join(home, ".local"))
	}
	for _, prefix := range prefixes {
		if prefix != "" {
			sites = append(sites, globs(prefix, "/lib/python3*/site-packages", "/lib64/python3*/site-packages",
				"/lib/python3*/dist-packages", "/local/lib/python3*/dist-packages")...)
		}
	}
	return sites
}

// add adds a compiler, or to one where it was found, too.
func (f *search) add(name, path, found string) *Compiler {
	real, err := filepath.EvalSymlinks(path)
	for _, c := range f.found {
		if other, otherErr := filepath.EvalSymlinks(c.Path); c.Path == path || err == nil && otherErr == nil && real == other && c.Name == name {
			if !slices.Contains(c.Found, found) {
				c.Found = append(c.Found, found)
			}
			return c
		}
	}
	c := &Compiler{Name: name, Path: path, Found: []string{found}, Reached: []string{}, Why: why(path)}
	f.found = append(f.found, c)
	return c
}

// why says why the runs of a program cannot be served; "" if they can.
func why(path string) string {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "it is not there"
	case err != nil:
		return err.Error()
	case !info.Mode().IsRegular():
		return "it is no file"
	case info.Mode()&0o111 == 0:
		return "it is not executable"
	case isOurs(path):
		return "it is kernstash itself"
	case !isELF(path):
		return "it is a script; what that starts may be served"
	}
	if real, err := filepath.EvalSymlinks(path); err == nil && !slices.Contains(compile.Names(), filepath.Base(real)) {
		return "it is a link to another program: " + real
	}
	return ""
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func isELF(path string) bool {
	f, err := elf.Open(path)
	return err == nil && f.Close() == nil
}

func globs(dir string, patterns ...string) (paths []string) {
	for _, pattern := range patterns {
		found, _ := filepath.Glob(dir + pattern)
		paths = append(paths, found...)
	}
	return paths
}

var versionText = pattern.Lazy(`\bV(\d+\.\d+\.\d+)\b`)

// version asks a compiler for its version; "" if it does not say.
func version(ctx context.Context, path string) string {
	const maxWait = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = time.Second
	out, _ := cmd.Output()
	if m := versionText().FindSubmatch(out); m != nil {
		return string(m[1])
	}
	return ""
}
