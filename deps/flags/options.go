// Package flags tells what the options of compilers say: which files and directories they
// name, which macros they define, and what makes a build uncacheable. Where drivers read an
// option differently it says so.
package flags

import (
	"slices"
	"strings"

	"github.com/kernstash/kernstash/deps/internal/lexer"
	"github.com/kernstash/kernstash/deps/internal/names"
	"github.com/kernstash/kernstash/reason"
)

// readsFile are the starts of options that name a file to read. They would be
// refused as unknown; here they get the reason that people look for.
var readsFile = []string{
	"-include", "--include", "-imacros", "--imacros", "-fmodule", "-ivfsoverlay", "-fpch", "--pre-include", "-pre-include",
	"-pch", "--pch", "--use-pch", "--create-pch", "-create-pch", "-use-pch", "--options-file", "-optf",
}

// readsDir are the starts of options that name a directory to search.
var readsDir = []string{"-I", "--include-path", "-isystem", "-iquote", "-idirafter"}

// defines are the starts of options that define a macro.
var defines = []string{"-D", "--define-macro", "-define-macro"}

// plain are options that read and write nothing. With --pch NVRTC keeps header files precompiled
// while the process runs; whether these were what the files are is looked at after the build.
var plain = strings.Fields(`
	-w -g -g0 -g1 -g2 -g3 -ggdb -gline-tables-only -gline-directives-only -gdwarf -gdwarf-2 -gdwarf-3 -gdwarf-4 -gdwarf-5 -G
	-O -O0 -O1 -O2 -O3 -O4 -Os -Oz -Og -Od -Ofast -pedantic -x -xcl -xspir -xcuda -xhip -std --std -optimize
	-create-library -enable-link-options -library-compilation -vc-codegen -arch --gpu-architecture
	-use_fast_math --use_fast_math -lineinfo --generate-line-info -generate-line-info --device-debug -device-debug
	-restrict --restrict -extra-device-vectorization --extra-device-vectorization -dlto --dlink-time-opt
	-optix-ir --optix-ir -ewp --extensible-whole-program --device-c -dw --device-w -gen-opt-lto --gen-opt-lto -minimal --minimal
	-device-int128 --device-int128 -device-float128 --device-float128 -device-stack-protector --device-stack-protector
	-dopt --dopt -no-cache --no-cache -no-lineinfo-ia --no-lineinfo-inlined-at -err-no -no-err-no
	-default-device --device-as-default-execution-space -disable-warnings --disable-warnings -rdc -dc
	-display-error-number --display-error-number -no-display-error-number --no-display-error-number
	-m32 -m64 -mfma -mno-fma -mf16c -mbmi -mbmi2 -mcumode -mno-cumode -mtgsplit -mno-tgsplit
	-mwavefrontsize64 -mno-wavefrontsize64 -munsafe-fp-atomics -mno-unsafe-fp-atomics
	-pch --pch -pch-verbose=true --pch-verbose=true -pch-verbose=false --pch-verbose=false -pch-messages=true --pch-messages=true
	-instantiate-templates-in-pch=true --instantiate-templates-in-pch=true
	-instantiate-templates-in-pch=false --instantiate-templates-in-pch=false`)

// valued are the starts of options that read and write nothing whatever follows.
var valued = []string{
	"-U", "--undefine-macro", "-cl-", "-ze-", "-zet-", "-std=", "--std=", "-spir-std=", "-opt-level", "-arch=", "--gpu-architecture=",
	"--offload-arch=", "-march=", "-mcpu=", "-mtune=", "-msse", "-mno-sse", "-mavx", "-mno-avx", "-mprefer-vector-width=",
	"-mcode-object-version=", "-maxrregcount=", "--maxrregcount=", "-ftz=", "--ftz=", "-fmad=", "--fmad=", "-prec-div=",
	"--prec-div=", "-prec-sqrt=", "--prec-sqrt=", "-rdc=", "--relocatable-device-code=", "-dopt=", "--dopt=",
	"-split-compile=", "--split-compile=", "-Ofast-compile=", "--Ofast-compile=", "-brief-diag=", "--brief-diagnostics=",
	"-Ofc=", "-frandom-seed=", "--frandom-seed=", "-device-stack-protector=", "--device-stack-protector=", "-builtin-move-forward=", "--builtin-move-forward=", "-builtin-initializer-list=", "--builtin-initializer-list=",
	"-version-ident=", "--version-ident=", "-modify-stack-limit=", "--modify-stack-limit=", "-jtd=", "--jump-table-density=",
	"-diag-suppress=", "--diag-suppress=", "-diag-error=", "--diag-error=", "-diag-warn=", "--diag-warn=",
}

// nested are the options that hand words on to ptxas.
var nested = []string{"-Xptxas", "-ptxas-options", "--ptxas-options"}

// nestedPlain are words, and nestedValued beginnings of words, for ptxas that read and
// write nothing: those with which it was traced as a program, but for what makes line information.
var (
	nestedPlain = strings.Fields(`
	-v --verbose -O0 -O1 -O2 -O3 -w --disable-warnings --warn-on-spills -warn-spills --warn-on-local-memory-usage -warn-lmem-usage
	--warn-on-double-precision-use -warn-double-usage --allow-expensive-optimizations --disable-optimizer-constants -disable-optimizer-consts
	--dont-merge-basicblocks -no-bb-merge --legacy-bar-warp-wide-behavior -legacy-bar-warp-wide-behavior --optimize-float-atomics -opt-fp-atomics
	--override-directive-values -override-directive-values --preserve-relocs -preserve-relocs --return-at-end -ret-end
	--sp-bounds-check -sp-bounds-check --suppress-stack-size-warning -suppress-stack-size-warning
	--suppress-double-demote-warning -suppress-double-demote-warning --warning-as-error -Werror
	--suppress-async-bulk-multicast-advisory-warning -suppress-async-bulk-multicast-advisory-warning`)
	nestedValued = []string{
		"--register-usage-level=", "-register-usage-level=", "-regUsageLevel=", "-allow-expensive-optimizations=", "--maxrregcount=", "-maxrregcount=", "--opt-level=", "-O=",
		"--def-load-cache=", "-dlcm=", "--def-store-cache=", "-dscm=", "--fmad=", "-fmad=", "--allow-expensive-optimizations=",
		"--force-load-cache=", "-flcm=", "--force-store-cache=", "-fscm=",
	}
)

// ForPTXAS reports whether ptxas reads and writes nothing more with a word.
func ForPTXAS(word string) bool {
	return slices.Contains(nestedPlain, word) || names.HasAnyPrefix(word, nestedValued)
}

// nestedWord looks at words for ptxas, which commas separate.
func nestedWord(o, list string) reason.Uncacheable {
	for _, w := range strings.Split(list, ",") {
		if !ForPTXAS(w) {
			return reason.Uncacheable{Code: reason.NotCacheableOptions, Detail: "option " + o + " " + w}
		}
	}
	return reason.Uncacheable{}
}

// features are what -f and -fno- switch without reading or writing anything.
var features = strings.Fields(`
	fast-math finite-math-only math-errno associative-math reciprocal-math signed-zeros trapping-math rounding-math
	honor-nans honor-infinities unsafe-math-optimizations approx-func fp-contract fp-model ffp-contract denormal-fp-math
	unroll-loops unroll-all-loops vectorize tree-vectorize slp-vectorize tree-slp-vectorize
	inline inline-functions strict-aliasing strict-overflow wrapv builtin common exceptions rtti declspec
	omit-frame-pointer function-sections data-sections visibility PIC pic PIE pie short-enums signed-char unsigned-char
	gpu-rdc gpu-flush-denormals-to-zero cuda-flush-denormals-to-zero cuda-approx-transcendentals
	gpu-approx-transcendentals gpu-max-threads-per-block hip-fp32-correctly-rounded-divide-sqrt`)

// apart are options whose argument may be the next word; see takesNext.
var apart = []string{"-U", "-x", "-std", "--std", "-arch", "--gpu-architecture"}

// takesNext reports whether an option's argument may be the next word, which then is
// nothing to be linked.
func takesNext(w string) bool { return slices.Contains(apart, w) || slices.Contains(readsDir, w) }

// linked are ends of names of files that a bare word makes a linker read.
var linked = []string{".o", ".obj", ".a", ".lib", ".bc", ".spv", ".ltoir", ".fatbin", ".cubin"}

// Scan looks through the words of build options (see key.Tokens) for
// what reads or writes files, and for macros that depend on time. Options that
// are not known to be harmless count as those that are not. readsPath says that
// a directory to search was given. Words that are no options, as an
// environment variable's value may be, are harmless.
//
// Drivers differ in how they split a string and what they do with quotes and
// backslashes, so what is looked at is split at all white space and has none of
// them.
func Scan(options []string) (why reason.Uncacheable, readsPath bool) {
	var s optionScanner
	for _, o := range options {
		for _, w := range strings.FieldsFunc(Unquoted(o), isSpace) {
			if r := s.word(w); !r.None() {
				return r, s.readsPath
			}
		}
	}
	return reason.Uncacheable{}, s.readsPath
}

type optionScanner struct {
	before    string // the option that the words now are behind
	started   bool   // of its macro, the value
	readsPath bool
}

func (s *optionScanner) word(w string) reason.Uncacheable {
	switch {
	case strings.Contains(w, "__DATE__"), strings.Contains(w, "__TIME"):
		return reason.Uncacheable{Code: reason.NotCacheableTime, Detail: "option " + w}
	case strings.Contains(w, "__has_include"), strings.Contains(w, "__has_embed"), w[0] == '@', lexer.HashLen([]byte(w)) > 0:
		return reason.Uncacheable{Code: reason.NotCacheableHeaders, Detail: "option " + w}
	case slices.Contains(nested, s.before):
		o := s.before
		s.before = ""
		return nestedWord(o, w)
	case w[0] != '-' || isNumber(w[1:]):
		return s.bare(w)
	}
	s.before, s.started = w, false
	name, list, given := strings.Cut(w, "=")
	switch {
	case slices.Contains(nested, name):
		if given {
			return nestedWord(name, list)
		}
	case slices.Contains(plain, w):
	case w == "--include-path", strings.HasPrefix(w, "--include-path="):
		s.readsPath = true
	case names.HasAnyPrefix(w, readsFile):
		return reason.Uncacheable{Code: reason.NotCacheableHeaders, Detail: "option " + w}
	case names.HasAnyPrefix(w, defines):
		return s.define(w[2:])
	case names.HasAnyPrefix(w, readsDir):
		s.readsPath = true
	case names.HasAnyPrefix(w, valued), isFeature(w), isWarning(w):
	case strings.HasPrefix(w, "-l"), strings.HasPrefix(w, "-L"):
		return reason.Uncacheable{Code: reason.NotCacheableFile, Detail: "option " + w}
	default:
		return reason.Uncacheable{Code: reason.NotCacheableOptions, Detail: "option " + w}
	}
	return reason.Uncacheable{}
}

// bare looks at a word that is no option: an argument of one, a file to link, or nothing.
func (s *optionScanner) bare(w string) reason.Uncacheable {
	switch {
	case names.HasAnyPrefix(s.before, defines):
		return s.define(w)
	case takesNext(s.before):
		s.before = ""
	case slices.ContainsFunc(linked, func(end string) bool { return strings.HasSuffix(strings.ToLower(w), end) }):
		return reason.Uncacheable{Code: reason.NotCacheableFile, Detail: "option " + w}
	}
	return reason.Uncacheable{}
}

// define looks at a macro, or a part of it, for what makes a forbidden name
// when the source pastes it to something: a part of such a name in the macro's
// value, other than a letter or two. (Together with what counts in a source it
// is enough: see docs/decisions/044-pasted-names.md.)
func (s *optionScanner) define(macro string) reason.Uncacheable {
	pastes := func(spelling string) bool { return strings.Contains(macro, spelling) }
	if slices.ContainsFunc([]string{"##", "%:%:", "??="}, pastes) {
		return reason.Uncacheable{Code: reason.NotCacheableHeaders, Detail: "option " + s.before + ": pastes tokens"}
	}
	value := macro
	if !s.started {
		_, value, s.started = strings.Cut(macro, "=")
	}
	for _, name := range strings.FieldsFunc(value, lexer.SplitsWords) {
		switch {
		case slices.Contains(names.Assemblers, name):
			return reason.Uncacheable{Code: reason.NotCacheableFile, Detail: "option " + s.before + ": assembler"}
		case (len(name) > 2 || strings.Contains(name, "_")) && strings.Contains(names.ForbiddenNames, name):
			return reason.Uncacheable{Code: reason.NotCacheableHeaders, Detail: "option " + s.before + ": " + name + " may be pasted"}
		}
	}
	return reason.Uncacheable{}
}

// isFeature reports whether w is -fname, -fno-name or -fname=value of a known name.
func isFeature(w string) bool {
	name, ok := strings.CutPrefix(w, "-f")
	name, _, _ = strings.Cut(strings.TrimPrefix(name, "no-"), "=")
	return ok && slices.Contains(features, name)
}

// isWarning reports whether w is about warnings. A comma makes it one of those
// that hand words on (-Wp,-include,a.h).
func isWarning(w string) bool { return strings.HasPrefix(w, "-W") && !strings.Contains(w, ",") }

func isNumber(w string) bool { return w != "" && strings.Trim(w, "0123456789.") == "" }

// macroOptions are the options that define a macro, or undefine it.
var macroOptions = []string{"--define-macro", "-define-macro", "--undefine-macro", "-D", "-U"}

// A Macro is what an option says of one.
type Macro struct {
	Text     string // NAME, NAME=VALUE or NAME(PARAMETERS)=VALUE
	Undefine bool
}

// Macros returns the macros that words define or undefine. What is quoted is read
// differently by drivers; sure is false where it may be a macro's name.
func Macros(words []string) (list []Macro, sure bool) {
	sure = true
	for i := 0; i < len(words); i++ {
		w := words[i]
		hides := strings.ContainsAny(macroName(w), quotes) && names.HasAnyPrefix(Unquoted(w), macroOptions)
		if hides || !settled(w) { // only drivers that take quotes away see the macro's name
			sure = false
			continue
		}
		rest, ok := "", false
		for _, o := range macroOptions {
			if rest, ok = strings.CutPrefix(w, o); ok {
				w = o
				break
			}
		}
		if !ok {
			continue
		}
		if strings.HasPrefix(w, "-d") || strings.HasPrefix(w, "--") {
			rest = strings.TrimPrefix(rest, "=")
		}
		if rest == "" && i+1 < len(words) {
			i++
			rest = words[i]
			sure = sure && settled(rest) && !strings.ContainsAny(macroName(rest), quotes)
		}
		list = append(list, Macro{rest, strings.HasSuffix(w, "U") || strings.HasPrefix(w, "--un")})
	}
	return list, sure
}

// macroName returns what stands before a macro's value.
func macroName(d string) string {
	name, _, _ := strings.Cut(d, "=")
	return name
}

// MayDefine reports whether a word of the options may be, or hold, the definition of a
// macro, or be an argument of what is. No other option puts text into a program.
func MayDefine(w string) bool {
	return !strings.HasPrefix(w, "-") || strings.Contains(w, "-D") || strings.HasPrefix(w, "--def") || strings.ContainsAny(w, "\"' ")
}
