package tool

import (
	"strings"

	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/internal/elfid"
)

// Layers says how the loader of a runtime brings layers into programs.
type Layers struct {
	Library  string // file name of our layer
	Variable string // that lists layers, with colons between
	Loader   string // soname of the loader
}

// Known reports whether the file of a loader looks at the variable.
func (l Layers) Known(loader string) bool { return drivers.MayKnow([]string{loader}, l.Variable) }

// LoaderFile returns the file of the loader that programs find here, "" for none.
func (l Layers) LoaderFile() string {
	if _, err := dl.Open(l.Loader); err != nil { // it loads no driver
		return ""
	}
	name, _, _ := strings.Cut(l.Loader, ".so")
	found := elfid.Loaded().Named(func(base string) bool { return strings.HasPrefix(base, name+".so") })
	if len(found) == 0 {
		return ""
	}
	return found[0]
}
