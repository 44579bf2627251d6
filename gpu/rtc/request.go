package rtc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/deps/flags"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/key"
)

// Request is what to compile. It must not be changed while it is in use.
type Request struct {
	// Source is the program's text, up to its first NUL.
	Source []byte `json:"-"`

	// Name is what the library calls the program in messages and in debug information, and in whose
	// directory it looks for #include "…"; "" gives it none, as C's NULL does.
	Name string `json:"name"`

	// Headers are included by name, in memory: the library takes one of these before any file.
	Headers []key.Header `json:"-"`

	// Options are given to the compiler one by one, in order.
	Options []string `json:"options"`

	// Expressions are name expressions, in the order in which they are added; the
	// Output tells what each is lowered to.
	Expressions []string `json:"expressions,omitempty"`

	// Inputs are what nvJitLink and libnvvm are given, in order, which have no Source, Name, Headers and Expressions.
	Inputs []Input `json:"inputs,omitempty"`

	// Adding says that what comes of adding the last input is asked for, and not of the compile: what an
	// application asks nvJitLink step by step.
	Adding bool `json:"adding,omitempty"`
}

// The attributes of a request, beside those of package deps.
const (
	NameAttribute  = "name"       // the program's, without deps.SourceDirectory
	attrExpression = "expression" // a name expression
	attrDirectory  = "working directory"
	attrEmpty      = "empty source" // the source has no byte; an image must have one
)

// Core returns the request as the core's, for a context that compiles for one device, as that of a
// [Runtime]. What is the same to the compiler is the same request: every front end asks so. An error,
// which may wrap key.ErrEmpty or key.ErrDuplicate, says that the program is the compiler's own affair.
func (l *Library) Core(r Request) (kernstash.Request, error) {
	var own kernstash.Request
	if l.d.links {
		units, q, err := l.normalizeInputs(r)
		if err != nil {
			return own, err
		}
		own.Image, err = kernstash.NewImageSequence(units...)
		own.CompileOptions, own.Attributes = q.options, q.attributes
		return own, err
	}
	q, err := l.normalize(r, func(source []byte, headers []key.Header) (_ *key.Image, reads bool, err error) {
		if own.Image, err = kernstash.NewImage(l.d.kind, source, headers...); err != nil {
			return nil, false, err
		}
		return own.Image.Image, own.Image.IncludesFiles(), nil
	})
	own.CompileOptions, own.Attributes, own.Unkeyed = q.options, q.attributes, q.unkeyed
	return own, err
}

// EngineRequest is [Library.Core] for a session of the engine with a [Host].
func (l *Library) EngineRequest(r Request) (engine.Request, error) {
	var own engine.Request
	if l.d.links {
		units, q, err := l.normalizeInputs(r)
		if err != nil {
			return own, err
		}
		image, err := key.NewImageSequence(units...)
		if err != nil {
			return own, err
		}
		return engine.Request{Image: engine.NewImage(image), CompileOptions: q.options, Attributes: q.attributes}, nil
	}
	q, err := l.normalize(r, func(source []byte, headers []key.Header) (*key.Image, bool, error) {
		image, err := key.NewImage(l.d.kind, source, headers...)
		if err != nil {
			return nil, false, err
		}
		own.Image = engine.NewImage(image)
		return image, own.Image.ReadsFiles(), nil
	})
	own.CompileOptions, own.Attributes, own.Unkeyed = q.options, q.attributes, q.unkeyed
	return own, err
}

// normalized is a request, but for its image.
type normalized struct {
	options             string
	attributes, unkeyed []key.Pair
}

// normalize returns what a request means to the compiler. newImage makes its image, and says
// whether that may include header files.
func (l *Library) normalize(r Request, newImage func([]byte, []key.Header) (_ *key.Image, reads bool, _ error)) (normalized, error) {
	if l.api == HIPRTC {
		if err := hipKnown(r.Options); err != nil {
			return normalized{}, fmt.Errorf("request: %w", err)
		}
	}
	source, _, _ := bytes.Cut(r.Source, []byte{0})
	empty := len(source) == 0
	if empty {
		source = []byte{'\n'}
	}
	said := deps.LookAtExpressions(r.Expressions, source)
	if said.Unknown != "" {
		return normalized{}, fmt.Errorf("request: %w: %q", errExpression, said.Unknown)
	}
	image, reads, err := newImage(source, l.included(source, r.Headers, r.Options))
	if err != nil {
		return normalized{}, fmt.Errorf("request: %w", err)
	}
	options := separate(r.Options)
	more := l.moreOptions()
	if l.api == NVRTC && !more {
		options = canonical(options)
	}
	if len(r.Headers) > 0 && !more && !reads {
		if rest := withoutSearch(options); len(rest) < len(options) && deps.ScanUnit(image.Units()[0]).Reads == "" {
			options = rest // every include is of a header in memory, which goes before all files
		}
	}
	compile := make([]string, len(options))
	for i, o := range options {
		compile[i] = word(o)
	}
	var attributes, unkeyed []key.Pair
	if empty {
		attributes = append(attributes, key.Pair{Name: attrEmpty})
	}
	dir, parent, name := l.splitName(r, image, reads, options, compile)
	if dir != "" && (more || said.Path || said.Foreign && reads) {
		dir, parent, name = "", "", r.Name
	}
	for _, a := range []key.Pair{{Name: NameAttribute, Value: name}, {Name: deps.SourceDirectory, Value: dir}, {Name: deps.SourceParent, Value: parent}} {
		switch {
		case a.Value == "":
		case a.Name == deps.SourceDirectory && !reads: // splitName has found that it does not count
			unkeyed = append(unkeyed, a)
		default:
			attributes = append(attributes, a)
		}
	}
	expressions := r.Expressions
	if !counts(r) && !(said.Foreign && reads) {
		expressions = slices.Sorted(slices.Values(expressions)) // each is answered for by itself
	}
	for _, e := range expressions {
		attributes = append(attributes, key.Pair{Name: attrExpression, Value: e})
	}
	if more || keepsDirectory(options) {
		dir, err := os.Getwd()
		if err != nil {
			return normalized{}, fmt.Errorf("request: %w", err)
		}
		attributes = append(attributes, key.Pair{Name: attrDirectory, Value: dir})
		if l.api == NVRTC && (more || flags.KeepLines(compile)) {
			attributes = append(attributes, namedFiles(r.Name, image.Units()[0].Headers, dir, more || flags.KeepTimes(compile))...)
		}
	}
	return normalized{strings.Join(compile, " "), key.SortAttributes(attributes), unkeyed}, nil
}

var errRecipe = errors.New("not a recipe of a run-time compiler")

// FromRecipe returns the request that a recipe was made of. Its header files are looked for again.
func FromRecipe(r *key.Recipe) (Request, error) {
	units := r.Image.Units()
	if d := r.Device.API; d == NVJitLink.String() || d == LibNVVM.String() {
		return inputsOf(r)
	}
	if len(units) != 1 || units[0].Kind != key.CUDACpp && units[0].Kind != key.HIPCpp {
		return Request{}, errRecipe
	}
	q := Request{Source: units[0].Code, Headers: units[0].Headers, Name: NameOf(r)}
	for _, w := range slices.Concat(r.Options.Search, r.Options.Compile) {
		q.Options = append(q.Options, option(w))
	}
	if len(r.Options.Link) > 0 {
		return Request{}, fmt.Errorf("%w: link options %q", errRecipe, r.Options.Link)
	}
	for _, a := range r.Options.Attributes {
		switch a.Name {
		case attrExpression:
			q.Expressions = append(q.Expressions, a.Value)
		case attrEmpty:
			q.Source = nil
		case NameAttribute, attrDirectory, attrFile, deps.SourceDirectory, deps.SourceParent, deps.HeaderTimes:
		default:
			return Request{}, fmt.Errorf("%w: attribute %s", errRecipe, a.Name)
		}
	}
	return q, nil
}
