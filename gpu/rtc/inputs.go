package rtc

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/deps/flags"
	"github.com/kernstash/kernstash/deps/ptx"
	"github.com/kernstash/kernstash/internal/ctime"
	"github.com/kernstash/kernstash/internal/pattern"
	"github.com/kernstash/kernstash/key"
)

// Input is what nvJitLink or libnvvm is given: a piece of code of a kind.
type Input struct {
	Kind  uint32 `json:"kind"`            // by nvJitLink's numbers; libnvvm has none
	Named bool   `json:"named,omitempty"` // it has a name; NULL is none
	Name  string `json:"name,omitempty"`
	Too   bool   `json:"too,omitempty"` // nvJitLink: it was a file, of the name; libnvvm: it is looked into at need
	Code  []byte `json:"-"`
}

// The kinds of input that nvJitLink's header has in 12.4. What it has had since then is not kept.
const (
	InputCUBIN   = 1
	InputPTX     = 2
	InputLTOIR   = 3
	InputFatbin  = 4
	InputObject  = 5
	InputLibrary = 6
	InputAny     = 10 // one of these, which the library finds out
)

// The attributes of a request with inputs.
const (
	attrInput    = "input"
	attrAdding   = "adding the last"
	attrVerified = "verified with"
)

var (
	errOption = errors.New("an option of which it is not known what comes of it")
	errSwitch = errors.New("set, which has the library do more than compile")
	errInput  = errors.New("an input that is not understood")
)

// inputOptions are those that nvJitLink 12.4 and libnvvm 12.4 document, and with which nothing but the inputs
// decides what is made, by their beginnings where they take a value. Not here: -time, after which the log tells
// what it took, -verbose, which writes to the process's standard error, -g, with which ptxas 13.0 writes its
// command line, and -split-compile, which begins threads.
var inputOptions = [...]func() *regexp.Regexp{
	NVJitLink: pattern.Lazy(`^(-arch=(sm|compute|lto)_[0-9]+[af]?|-maxrregcount=[0-9]+|-O[0-3]|-lto|-ptx|-lineinfo|-no-cache` +
		`|-(ftz|prec-div|prec-sqrt|fma|jump-table-density)=[a-z0-9]+|-(kernels|variables)-used=.+|-optimize-unused-variables)$`),
	LibNVVM: pattern.Lazy(`^(-arch=compute_[0-9]+[af]?|-opt=[0-3]|-g|-generate-line-info|-gen-lto|-(ftz|prec-div|prec-sqrt|fma|jump-table-density)=[0-9]+)$`),
}

// isInputOption reports whether an option is one of inputOptions, or hands ptxas one with which it does nothing more;
// what line information needs is in the key.
func (l *Library) isInputOption(option string) bool {
	word, nested := strings.CutPrefix(option, "-Xptxas=")
	if nested && l.api == NVJitLink {
		return flags.ForPTXAS(word) && !strings.ContainsAny(word, quoted+",") || word == "-lineinfo" || word == "--generate-line-info"
	}
	return inputOptions[l.api]().MatchString(option)
}

// sideEffects are variables with which a library writes files, or to the process's standard error.
var sideEffects = []string{"NVJITLINK_TRACE_MESSAGES", "AS_SECURE_LOG_FILE", "DUMP_KNOBS_TO_FILE", "CAN_FINALIZE_DEBUG"}

// normalizeInputs returns what a request with inputs means to the library.
func (l *Library) normalizeInputs(r Request) (units []key.Unit, q normalized, err error) {
	variables, err := l.Variables()
	if err != nil {
		return nil, q, err
	}
	for _, v := range variables {
		if slices.Contains(sideEffects, v.Name) {
			return nil, q, fmt.Errorf("request: %s: %w", v.Name, errSwitch)
		}
	}
	words := make([]string, len(r.Options))
	for i, o := range r.Options {
		if !l.isInputOption(o) {
			return nil, q, fmt.Errorf("request: %w: %q", errOption, o)
		}
		words[i] = word(o)
	}
	q.options = strings.Join(words, " ")
	for _, in := range r.Inputs {
		if err := l.isWhole(in); err != nil {
			return nil, q, fmt.Errorf("request: %w", err)
		}
		kind := key.Opaque
		if l.api == NVJitLink && (in.Kind == InputPTX || in.Kind == InputAny) {
			files, err := ptx.Files(in.Code)
			if err != nil && in.Kind == InputPTX {
				return nil, q, fmt.Errorf("request: %w", err)
			}
			q.attributes = append(q.attributes, files...)
			if in.Kind == InputPTX {
				kind = key.PTX
			}
		}
		units = append(units, key.Unit{Kind: kind, Code: in.Code})
		q.attributes = append(q.attributes, key.Pair{Name: attrInput, Value: in.String()})
	}
	if r.Adding {
		q.attributes = append(q.attributes, key.Pair{Name: attrAdding})
	}
	for _, e := range r.Expressions {
		q.attributes = append(q.attributes, key.Pair{Name: attrVerified, Value: e})
	}
	q.attributes = key.SortAttributes(q.attributes)
	return units, q, nil
}

// String returns all that an input is but its code: "2", "2 too =name".
func (in Input) String() string {
	s := strconv.FormatUint(uint64(in.Kind), 10)
	if in.Too {
		s += " too"
	}
	if in.Named {
		s += " =" + in.Name
	}
	return s
}

func parseInput(s string) (in Input, err error) {
	s, in.Name, in.Named = strings.Cut(s, " =")
	s, in.Too = strings.CutSuffix(s, " too")
	n, err := strconv.ParseUint(s, 10, 32)
	in.Kind = uint32(n)
	return in, err
}

// isWhole says why a library may read other bytes than those of an input: a file of ELF, or a container of
// fat binaries, tells its own size.
func (l *Library) isWhole(in Input) error {
	if l.api != NVJitLink {
		return nil
	}
	const fatbin, header = "\x50\xed\x55\xba", 16
	switch code := in.Code; {
	case in.Kind > InputLibrary && in.Kind != InputAny:
		return fmt.Errorf("%w: kind %d", errInput, in.Kind)
	case bytes.HasPrefix(code, []byte(fatbin)):
		if len(code) < header || binary.LittleEndian.Uint64(code[8:]) > uint64(len(code)-header) {
			return fmt.Errorf("%w: a fat binary that is cut", errInput)
		}
	case bytes.HasPrefix(code, []byte(elfMagic)):
		if _, ok := elfSections(code); !ok {
			return fmt.Errorf("%w: a file of ELF that is cut", errInput)
		}
	}
	return nil
}

// inputsOf returns the request that a recipe with inputs was made of. Files are taken as they were.
func inputsOf(r *key.Recipe) (q Request, err error) {
	for _, w := range r.Options.Compile {
		q.Options = append(q.Options, option(w))
	}
	units := r.Image.Units()
	for _, a := range r.Options.Attributes {
		switch a.Name {
		case attrInput:
			in, err := parseInput(a.Value)
			if err != nil || len(q.Inputs) == len(units) {
				return Request{}, fmt.Errorf("%w: input %q", errRecipe, a.Value)
			}
			in.Code = units[len(q.Inputs)].Code
			q.Inputs = append(q.Inputs, in)
		case attrAdding:
			q.Adding = true
		case attrVerified:
			q.Expressions = append(q.Expressions, a.Value)
		case ptx.FileAttribute:
		default:
			return Request{}, fmt.Errorf("%w: attribute %s", errRecipe, a.Name)
		}
	}
	if len(q.Inputs) != len(units) || len(r.Options.Link)+len(r.Options.Search) > 0 {
		return Request{}, errRecipe
	}
	return q, nil
}

// Unchanged returns an error where a file that the PTX of a request names may have changed since began: a
// linker that was given inputs one by one looked at each when it was given it. attributes are those of the request.
func Unchanged(attributes []key.Pair, began time.Time) error {
	var paths []string
	for _, a := range attributes {
		if a.Name != ptx.FileAttribute || began.IsZero() {
			continue
		}
		path, err := filepath.Abs(a.Value[:max(strings.LastIndex(a.Value, ": "), 0)])
		if err != nil {
			return fmt.Errorf("request: %w", err)
		}
		if dir := path; strings.HasSuffix(a.Value, ": absent") { // it may have been there
			info, err := os.Stat(dir)
			for ; err != nil && dir != filepath.Dir(dir); info, err = os.Stat(dir) {
				dir = filepath.Dir(dir)
			}
			if err != nil || !info.ModTime().Before(began.Add(-ctime.Grain)) {
				return fmt.Errorf("request: line information: %s: something in %s was changed meanwhile", path, dir)
			}
		}
		paths = append(paths, path)
	}
	if len(paths) == 0 {
		return nil
	}
	slices.Sort(paths)
	unread := func(string) *key.Digest { return new(key.Digest) }
	if _, err := deps.Watched(key.Unit{Kind: key.Opaque}, slices.Compact(paths), began, unread, nil); err != nil {
		return fmt.Errorf("request: line information: %w", err)
	}
	return nil
}

// looksAtFiles reports whether the library may have looked at files that nobody knows of: those that the debug
// information of LTO IR names, and of PTX within fat binaries. What it found then stands in the line
// table of the machine code.
func (o *Output) looksAtFiles(r *key.Recipe) bool {
	q, err := inputsOf(r)
	if err != nil {
		return true
	}
	known := func(in Input) bool { return in.Kind == InputPTX || in.Kind == InputCUBIN }
	if !slices.ContainsFunc(q.Inputs, func(in Input) bool { return !known(in) }) {
		return false
	}
	if bytes.Contains(o.forms[LinkedPTX].Data, []byte(".file")) {
		return true
	}
	code := o.forms[LinkedCUBIN].Data
	if len(code) == 0 {
		return false
	}
	sections, ok := elfSections(code)
	return !ok || slices.ContainsFunc(sections, func(name string) bool { return strings.Contains(name, "debug_line") })
}

// knownFunctions are the functions that the libraries are known to have, without prefix and version: an application
// that calls another one finds a program as the interposer left it.
var knownFunctions = [...]func() *regexp.Regexp{
	NVJitLink: pattern.Lazy(`^(nvJitLink|__nvJitLink)(Create|Destroy|AddData|AddFile|Complete|Version|API` +
		`|Get(LinkedCubin|LinkedPtx|LinkedLTOIR|ErrorLog|InfoLog)(Size)?)(_12_[0-9]|_13_[0-4])?$`), // shim/nvjitlink/versions.h
	// Nobody is known to call __nvvmHandle and, from 13.0 on, __nvvmHandleTarget but NVIDIA: see decision 189.
	LibNVVM: pattern.Lazy(`^(__nvvmHandle(Target)?|nvvm(Create|Destroy|Compile|Verify)Program|nvvm(Lazy)?AddModuleToProgram` +
		`|nvvmGet(CompiledResult|ProgramLog)(Size)?|nvvmGetErrorString|nvvm(IR|LLVM)?Version|nvvmDisableConcurrentAPI)$`),
}

// unknownFunctions returns the names of the library's functions that are not known.
func (l *Library) unknownFunctions() ([]string, error) {
	if !l.d.links {
		return nil, nil
	}
	return unknownFunctions(l.path, l.d.prefix, knownFunctions[l.api]())
}

// unknownFunctions returns the functions of a file whose names begin with a prefix and are not known.
func unknownFunctions(path, prefix string, known *regexp.Regexp) (unknown []string, err error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := f.DynamicSymbols()
	for _, s := range all {
		own := strings.HasPrefix(strings.TrimLeft(s.Name, "_"), prefix)
		if own && s.Section != elf.SHN_UNDEF && elf.ST_TYPE(s.Info) == elf.STT_FUNC && !known.MatchString(s.Name) {
			unknown = append(unknown, s.Name)
		}
	}
	return unknown, err
}
