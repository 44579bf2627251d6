package tool

import (
	"context"
	"fmt"
	"strings"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/internal/elfid"
	"github.com/kernstash/kernstash/key"
)

// Verdict is how a check ended.
type Verdict string

// The verdicts.
const (
	OK   Verdict = "ok"
	Info Verdict = "info" // a fact
	Warn Verdict = "warning"
	Fail Verdict = "wrong"
)

// Finding is one line of the doctor's report.
type Finding struct {
	Subject string  `json:"subject"`
	Verdict Verdict `json:"verdict"`
	Text    string  `json:"text"`
	Advice  string  `json:"advice,omitempty"` // what to do
}

// Subject is something that was examined, and what was found.
type Subject struct {
	Name     string
	Findings []Finding
	Target   *Target // nil where nothing compiles
}

// Target is something that compiles: a device, or a compiler that needs none.
type Target struct {
	Identity  key.Device
	Err       error      // why the identity is not known
	Variables []key.Pair // that it obeys
	Bypassed  bool       // caching does not work for it: findings say why

	// IsDevice says that it runs programs, which Run does. Compile, of what is no device, compiles
	// a program that differs from all others by a mark. Without them nothing is tried.
	IsDevice bool
	Run      func(*kernstash.Cache) (*Machine, error)
	Compile  func(ctx context.Context, cache *kernstash.Cache, mark string) error
}

// Add adds a finding.
func (s *Subject) Add(v Verdict, advice, format string, args ...any) {
	s.Findings = append(s.Findings, Finding{s.Name, v, fmt.Sprintf(format, args...), advice})
}

// Only returns a subject of which there is one finding.
func Only(name string, v Verdict, advice, format string, args ...any) []Subject {
	s := Subject{Name: name}
	s.Add(v, advice, format, args...)
	return []Subject{s}
}

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
