package bundles

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/bundle"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/caches"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/frameworks"
	"github.com/kernstash/kernstash/internal/pattern"
)

// Tools are those whose caches --harvest knows by name.
var Tools = []string{"cupy", "inductor", "jax", "triton"}

var variable = pattern.Lazy(`^[A-Z][A-Z0-9_]*$`)

// harvests returns the caches that the words of --harvest mean: a tool, or NAME=DIR. root is that of our cache.
func harvests(words []string, root string) (all []bundle.Harvest, err error) {
	for _, w := range words {
		name, dir, given := strings.Cut(w, "=")
		h := bundle.Harvest{Name: name, From: dir}
		switch known := slices.Contains(Tools, name); {
		case !known && !given, given && dir == "":
			return nil, cli.Usagef("--harvest %s: want NAME=DIR, or one of %s", w, strings.Join(Tools, ", "))
		case known:
			h = ofTool(name, dir, root)
		case variable().MatchString(name):
			h.Variables = []bundle.Variable{{Name: name}}
		}
		if err := h.Check(); err != nil {
			return nil, cli.Usagef("--harvest %s: %v", w, err)
		}
		if slices.ContainsFunc(all, func(other bundle.Harvest) bool { return other.Name == h.Name }) {
			return nil, cli.Usagef("--harvest %s: it is there twice", h.Name)
		}
		if strings.Contains(h.From, "://") {
			return nil, fmt.Errorf("harvest %s: %s is no directory", h.Name, h.From)
		}
		all = append(all, h)
	}
	return all, nil
}

// ofTool returns the cache of a tool, in dir or where it is by default.
func ofTool(name, dir, root string) bundle.Harvest {
	h := bundle.Harvest{Name: name, Tool: name}
	home, _ := os.UserHomeDir() // without one the directory is not found
	place, standard := "", ""
	switch name {
	case "cupy":
		place, standard = "CUPY_CACHE_DIR", filepath.Join(home, ".cupy", "kernel_cache")
	case "inductor":
		place, standard = "TORCHINDUCTOR_CACHE_DIR", caches.Inductor()
	case "jax":
		place, standard = "JAX_COMPILATION_CACHE_DIR", frameworks.Dir(root, "jax")
		for _, v := range frameworks.Switches("jax") {
			h.Variables = append(h.Variables, bundle.Variable(v))
		}
	case "triton":
		place, standard = "TRITON_CACHE_DIR", filepath.Join(cmp.Or(os.Getenv("TRITON_HOME"), home), ".triton", "cache")
		if dir == "" && os.Getenv(place) == "" {
			// Inductor gives Triton directories of its own, unless TRITON_CACHE_DIR is set.
			place, h.Below = "TRITON_HOME", ".triton/cache"
		}
	}
	h.Variables = append(h.Variables, bundle.Variable{Name: place})
	if h.Below != "" {
		h.From = standard
	} else {
		h.From = cmp.Or(dir, os.Getenv(place), standard)
	}
	return h
}
