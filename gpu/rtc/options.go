package rtc

import (
	"errors"
	"os"
	"slices"
	"strings"
)

// searches are the options that name a directory to search, which may stand in
// one string with it, behind a blank, or behind an equals sign.
var searches = []string{"--include-path", "-I"}

// separable are the options whose argument may stand in one string with them,
// behind a blank. NVRTC 11.8 refuses others that are written so.
var separable = []string{"-D", "-U", "-I"}

// separate returns options with those that hold a blank before their argument
// split in two, and -I=dir as -Idir: so all ways to write a directory look alike.
func separate(options []string) []string {
	out := make([]string, 0, len(options))
	for i, o := range options {
		if i > 0 && slices.Contains(withArgument, options[i-1]) {
			out = append(out, o) // an argument, whatever it looks like
			continue
		}
		if name, value, ok := strings.Cut(o, " "); ok && slices.Contains(separable, name) {
			if value = strings.TrimLeft(value, " "); value != "" && !strings.ContainsAny(value, quoted) {
				out = append(out, name, value)
				continue
			}
		}
		if dir, ok := strings.CutPrefix(o, "-I="); ok && dir != "" {
			o = "-I" + dir
		}
		out = append(out, o)
	}
	return out
}

// withoutSearch returns options without those that name directories to search.
func withoutSearch(options []string) []string {
	out := make([]string, 0, len(options))
	for _, p := range pieces(options) {
		o := p[0]
		switch {
		case len(p) == 2 && slices.Contains(searches, o):
		case strings.HasPrefix(o, "--include-path="), strings.HasPrefix(o, "-I") && o != "-I":
		default:
			out = append(out, p...)
		}
	}
	return out
}

// located are the options, or their beginnings, with which what is made has the working directory
// in it: debug information; and names that are made of the program's.
var located = []string{
	"-G", "--device-debug", "-device-debug", "-lineinfo", "--generate-line-info", "-generate-line-info",
	"-g", "-rdc", "--relocatable-device-code", "-dc", "--device-c", "-dw", "--device-w", "-ewp", "--extensible-whole-program",
	"-dlto", "--dlink-time-opt", "-gen-opt-lto", "--gen-opt-lto", "-fgpu-rdc", "-fdebug", "-fcoverage",
}

func keepsDirectory(options []string) bool {
	return slices.ContainsFunc(options, func(o string) bool {
		return o != "-g0" && slices.ContainsFunc(located, func(l string) bool { return strings.HasPrefix(o, l) })
	})
}

// pieces returns options with those together that are an option and its argument.
func pieces(options []string) (all [][]string) {
	for i := 0; i < len(options); i++ {
		n := 1
		if slices.Contains(withArgument, options[i]) && i+1 < len(options) {
			n = 2
		}
		all = append(all, options[i:i+n])
		i += n - 1
	}
	return all
}

// withArgument are the options whose argument may be the next string.
var withArgument = []string{
	"-D", "--define-macro", "-U", "--undefine-macro", "-I", "--include-path", "-arch", "--gpu-architecture", "-std", "--std",
	"-maxrregcount", "--maxrregcount", "-Xptxas", "-ptxas-options", "--ptxas-options",
	"-ftz", "--ftz", "-fmad", "--fmad", "-prec-div", "--prec-div", "-prec-sqrt", "--prec-sqrt",
}

// canonical returns separated options of NVRTC's as others that mean the same are
// returned, too: an architecture that is named once comes first, then macros, by name,
// unless the order of their options may matter; each is spelled in one way. What is
// compiled is not told the difference: it was not there in NVRTC 11.8.
func canonical(options []string) []string {
	var arch, macros, rest []string
	names := make(map[string]bool)
	for _, p := range pieces(options) {
		if value, ok := argument(p, "-arch", "--gpu-architecture"); ok && len(value) > 0 && strings.Trim(value, letters) == "" {
			arch = append(arch, "--gpu-architecture="+value)
			continue
		}
		if value, ok := definition(p); ok {
			name := macroName(value)
			if names[name] {
				return options
			}
			names[name] = true
			macros = append(macros, "-D"+value)
			continue
		}
		if o := p[0]; !movable(p) || strings.HasPrefix(o, "-D") || strings.HasPrefix(o, "--def") ||
			strings.HasPrefix(o, "-U") || strings.HasPrefix(o, "--undef") {
			return options
		}
		rest = append(rest, p...)
	}
	if len(arch) > 1 {
		return options
	}
	slices.SortFunc(macros, func(a, b string) int { return strings.Compare(macroName(a), macroName(b)) })
	return slices.Concat(arch, macros, rest)
}

// movable reports whether an option, with its argument, is certain to be one: others may go before
// it, or behind it. NVRTC refuses, or reads otherwise, what is between an option and its argument.
func movable(piece []string) bool {
	o := piece[0]
	switch {
	case !strings.HasPrefix(o, "-"), strings.HasPrefix(o, "-arch"), strings.HasPrefix(o, "--gpu-arch"):
		return false
	case len(piece) > 1:
		return !strings.HasPrefix(piece[1], "-")
	}
	return strings.Contains(o, "=") || slices.Contains(nameless, o) || slices.Contains(switches, o) ||
		strings.HasPrefix(o, "-I") && o != "-I"
}

// switches are more options of NVRTC 11.8 that take no argument.
var switches = []string{
	"-G", "--device-debug", "-lineinfo", "--generate-line-info", "-dlto", "--dlink-time-opt",
	"-dc", "--device-c", "-dw", "--device-w", "-ewp", "--extensible-whole-program",
}

const letters = "abcdefghijklmnopqrstuvwxyz_0123456789"

func macroName(o string) string {
	name, _, _ := strings.Cut(o, "=")
	return name
}

// argument returns the argument of an option of one of these names, behind "=" or as the
// next string.
func argument(piece []string, names ...string) (string, bool) {
	if len(piece) == 2 && slices.Contains(names, piece[0]) {
		return piece[1], true
	}
	name, value, ok := strings.Cut(piece[0], "=")
	return value, ok && len(piece) == 1 && slices.Contains(names, name)
}

// definition returns the macro that an option defines, as NAME or NAME=VALUE, where its
// name is plain.
func definition(piece []string) (string, bool) {
	value, ok := argument(piece, "--define-macro")
	if !ok {
		switch {
		case len(piece) == 2 && piece[0] == "-D":
			value = piece[1]
		case len(piece) == 1 && strings.HasPrefix(piece[0], "-D"):
			value = piece[0][len("-D"):]
		default:
			return "", false
		}
	}
	name := macroName(value)
	if name == "" || strings.Trim(strings.ToLower(name), letters) != "" || strings.HasPrefix(value, "-") {
		return "", false
	}
	return value, true
}

var (
	errArch    = errors.New("no architecture is named: HIPRTC asks the device")
	errQuote   = errors.New("HIPRTC looks for its own header in the directories of -iquote")
	errBuiltin = errors.New("hiprtc_runtime.h is in the working directory, and goes before HIPRTC's own")
)

// archOptions are the options that name what HIPRTC compiles for.
var archOptions = []string{"--offload-arch", "--gpu-architecture", "-mcpu", "--amdgpu-target"}

// hipKnown says why nobody knows what HIPRTC makes of options: without an
// architecture it compiles for the device that is current.
func hipKnown(options []string) error {
	named := slices.ContainsFunc(options, func(o string) bool {
		name, arch, ok := strings.Cut(o, "=")
		return ok && slices.Contains(archOptions, name) && arch != "" && !strings.Contains(arch, "native")
	})
	if !named {
		return errArch
	}
	// It is included in front of each program, and looked for here first, precompiled
	// before all, and in the directories of -iquote (strace of 5.2.3).
	for _, name := range []string{"hiprtc_runtime.h", "hiprtc_runtime.h.pch", "hiprtc_runtime.h.gch"} {
		if _, err := os.Lstat(name); err == nil {
			return errBuiltin
		}
	}
	if slices.ContainsFunc(options, func(o string) bool { return strings.HasPrefix(strings.TrimLeft(o, " "), "-iquote") }) {
		return errQuote
	}
	return nil
}

// The core's options are words of one string, a compiler's here are strings of
// any kind. A word is an option with a backslash before each character that means
// something between words; so most options are their own words.

const quoted = "\\\"' \t\n\r\v\f"

// word returns the word of an option.
func word(option string) string {
	if option == "" {
		return `""`
	}
	if strings.ContainsAny(option, quoted) {
		for i := range len(quoted) { // the backslash first
			c := quoted[i : i+1]
			option = strings.ReplaceAll(option, c, `\`+c)
		}
	}
	return option
}

// option is word the other way round.
func option(word string) string {
	if word == `""` {
		return ""
	}
	var b strings.Builder
	for i := 0; i < len(word); i++ {
		if word[i] == '\\' && i+1 < len(word) {
			i++
		}
		b.WriteByte(word[i])
	}
	return b.String()
}
