package spool

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kernstash/kernstash/internal/drivers/variables"
	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/key"
)

// Kind says what is to be done.
type Kind string

// The kinds of job.
const (
	// Capture builds a program again for a driver that makes code at launches
	// (PoCL), with code for the launches that were seen.
	Capture Kind = "capture"

	// Finish makes machine code of a stored artifact that the driver finishes
	// at each load (NVIDIA's PTX).
	Finish Kind = "finish"

	// Rebuild builds a recipe for which there is no artifact yet: that of a
	// program that an earlier driver had built, its device being the new one.
	Rebuild Kind = "rebuild"

	// Upload puts what is stored where other machines find it. It builds nothing: it has no
	// environment, and of the recipe nothing but the key counts.
	Upload Kind = "upload"
)

// Job is one piece of work.
type Job struct {
	Kind Kind

	// Recipe is what to build, in full; its key is what the artifact is stored under.
	Recipe *key.Recipe

	// Variants are the launches to be ready for, of Capture and Rebuild, named
	// as store.Artifact.Variants are: "kernel/64-1-1-goffs0-smallgrid", or
	// "kernel/auto-1024-1-1-goffs0-smallgrid" where the driver chose the local
	// size, by the global size. At most MaxVariants count.
	Variants []string

	// Environment is where the application built it.
	Environment Environment

	// Headers are contents of header files that the recipe names, by digest, as
	// far as the caller that adds the job has them; the others may be in the cache already.
	// They go there. Read returns none.
	Headers map[key.Digest][]byte

	// Log is the build log that the application saw, if HasLog: what is built
	// later tells of other temporary files.
	Log    string
	HasLog bool

	// Stored says that the cache has an artifact, and the job is for launches that this
	// is not ready for. It is for Add; Read does not know it.
	Stored bool

	Cost    time.Duration // what the application's build took
	Created time.Time     // when the job was added; zero: now
}

// MaxVariants bounds the launches of a job, and of an artifact.
const MaxVariants = 64

const (
	maxText        = 64 << 10 // bytes of each text of a job
	maxEnvironment = 1000     // variables
)

var (
	// ErrInvalid is wrapped for a job that cannot be kept, or is none.
	ErrInvalid = errors.New("not a job")

	// ErrVersion is wrapped for a job that a worker of another version of kernstash can read.
	ErrVersion = errors.New("of another version of kernstash")
)

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalid, fmt.Errorf(format, args...))
}

// Key returns the key of the job's recipe.
func (j *Job) Key() key.Key { return j.Recipe.Key() }

// Name returns the name of the job's file: equal jobs have the same.
func (j *Job) Name() string { return j.Key().Sum.Dir() + "." + string(j.Kind) }

// head is what a job says besides its recipe, as text for people.
type head struct {
	Kind    Kind          `json:"kind"`
	Key     key.Digest    `json:"key"`
	Created time.Time     `json:"created"`
	Cost    time.Duration `json:"cost_ns"`
	Launch  []string      `json:"launches,omitempty"`
	Dir     string        `json:"dir,omitempty"`
	Env     []string      `json:"env,omitempty"`
	Log     *string       `json:"log,omitempty"`
}

// Encode returns a job as a file of the spool has it, for another process. Headers
// are left out, as are launches over MaxVariants.
func (j *Job) Encode() ([]byte, error) {
	if err := j.check(); err != nil {
		return nil, err
	}
	h := head{
		Kind: j.Kind, Key: j.Key().Sum, Created: j.Created.UTC(), Cost: j.Cost,
		Launch: j.Variants[:min(len(j.Variants), MaxVariants)],
		Dir:    j.Environment.Dir, Env: j.Environment.environ(),
	}
	if j.HasLog {
		h.Log = &j.Log
	}
	text, err := json.Marshal(h)
	if err != nil {
		return nil, invalid("%w", err)
	}
	return format.EncodeJob(text, j.Recipe)
}

func (j *Job) check() error {
	switch {
	case !slices.Contains([]Kind{Capture, Finish, Rebuild, Upload}, j.Kind):
		return invalid("kind %q", j.Kind)
	case j.Recipe == nil || j.Recipe.Image == nil:
		return invalid("no recipe")
	case j.Cost < 0:
		return invalid("a cost of %v", j.Cost)
	}
	texts := append(j.Environment.environ(), j.Environment.Dir)
	for _, v := range j.Variants {
		if !isVariant(v) {
			return invalid("variant %q", v)
		}
	}
	if j.HasLog {
		texts = append(texts, j.Log)
	}
	for _, s := range texts {
		if len(s) > maxText || !utf8.ValidString(s) || strings.ContainsRune(s, 0) && s != j.Log {
			return invalid("a text of %d bytes that is too long or no text: %.40q", len(s), s)
		}
	}
	return j.Environment.check()
}

// isVariant reports whether v may name a launch: a kernel and a local size.
func isVariant(v string) bool {
	kernel, size, _ := strings.Cut(v, "/")
	first := strings.TrimPrefix(size, "auto-")
	return kernel != "" && first != "" && first[0] >= '0' && first[0] <= '9' && len(v) <= 4096 && utf8.ValidString(v) &&
		!strings.ContainsFunc(kernel, func(r rune) bool { return r < ' ' || r == '/' }) &&
		strings.Trim(size, "0123456789abcdefghijklmnopqrstuvwxyz-") == ""
}

// Parse reads what Encode wrote: headers are not there. What is no job is an error that wraps
// ErrInvalid, and what is of another version one that wraps ErrVersion.
func Parse(b []byte) (*Job, error) {
	text, recipe, err := format.DecodeJob(b)
	if errors.Is(err, format.ErrVersion) {
		return nil, ErrVersion
	}
	if err != nil {
		return nil, invalid("%w", err)
	}
	var h head
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, invalid("%w", err)
	}
	if len(h.Launch) > MaxVariants {
		return nil, invalid("%d launches", len(h.Launch))
	}
	j := &Job{Kind: h.Kind, Recipe: recipe, Variants: h.Launch, Created: h.Created, Cost: h.Cost}
	j.Environment.Dir = h.Dir
	for _, v := range h.Env {
		name, value, ok := strings.Cut(v, "=")
		if !ok {
			return nil, invalid("variable %q", v)
		}
		j.Environment.Variables = append(j.Environment.Variables, key.Pair{Name: name, Value: value})
	}
	if h.Log != nil {
		j.Log, j.HasLog = *h.Log, true
	}
	if err := j.check(); err != nil {
		return nil, err
	}
	if k := j.Key().Sum; k != h.Key {
		return nil, invalid("the recipe is of key %s, not %s", k.Dir(), h.Key.Dir())
	}
	return j, nil
}

// launches returns those in a job's file, without a look at the rest.
func launches(b []byte) []string {
	_, rest, _ := bytes.Cut(b, []byte("\n"))
	var h head
	_ = json.NewDecoder(bytes.NewReader(rest)).Decode(&h)
	return h.Launch
}

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

// Take returns the environment of a process: of environ, as os.Environ returns it, what is
// decisive, and the variables of a recipe. dir is the working directory.
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
