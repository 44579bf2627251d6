package rtc

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/key"
)

// What a program's name decides was seen by compiling under two names, with NVRTC 11.8
// and HIPRTC 5.2.3. The directory: what __FILE__, __BASE_FILE__ and assert expand to,
// debug and line information, LTO IR, where NVRTC looks for #include "…", and messages.
// The rest of it, also: names of internal linkage. HIPRTC 5.2 ignores it.

// splitName splits a program's name. name is always in the key, and dir only where code
// may depend on it. parent is that of a random dir; it is in the key, and dir is not, where
// the code of header files alone may depend on dir, see [Output.Artifact].
func (l *Library) splitName(r Request, image *key.Image, reads bool, options, words []string) (dir, parent, name string) {
	if l.api == HIPRTC && l.ignoresName() {
		return "", "", ""
	}
	dir = NameDir(r.Name)
	name = r.Name[len(dir):]
	switch {
	case l.api != NVRTC, name == "", len(dir) < 2, !filepath.IsAbs(dir), filepath.Clean(r.Name) != r.Name,
		slices.ContainsFunc(pieces(options), func(p []string) bool { return !namesNothing(p) }), mentions(r, dir):
		return "", "", r.Name
	}
	parent, _ = splitRandom(dir)
	if reads {
		return dir, parent, name // deps says which of them is in the key
	}
	switch p := deps.PlacingOf(withExpressions(image.Units()[0], r.Expressions), words); {
	case p == manifest.Unplaced:
		return dir, "", name
	case p == manifest.Called && parent != "":
		return dir, parent, name
	}
	return "", "", r.Name
}

// errExpression is wrapped where a name expression may be more than one, or tell the time.
var errExpression = errors.New("a name expression that may be more than a name")

// withExpressions returns a unit with name expressions behind its source, where a compiler
// reads them.
func withExpressions(u key.Unit, expressions []string) key.Unit {
	if len(expressions) > 0 {
		u.Code = slices.Concat(u.Code, []byte("\n"), []byte(strings.Join(expressions, "\n")))
	}
	return u
}

// counts reports whether a request has a name of a number in it that another order of name
// expressions may change.
func counts(r Request) bool {
	has := func(text []byte) bool {
		return bytes.Contains(text, []byte("__COUNTER__")) || bytes.Contains(text, []byte("__LINE__"))
	}
	return len(r.Expressions) > 1 && (has(r.Source) || has([]byte(strings.Join(r.Expressions, "\n"))) ||
		slices.ContainsFunc(r.Headers, func(h key.Header) bool { return has(h.Content) }))
}

// ignoresName reports whether HIPRTC is one that is known to ignore names.
func (l *Library) ignoresName() bool {
	return strings.HasPrefix(filepath.Base(l.path), "libamdhip64.so.5.2.")
}

// mentions reports whether a request has a directory in its texts: then a message may
// name it that is not about the program's name.
func mentions(r Request, dir string) bool {
	dir = strings.TrimRight(dir, "/")
	return bytes.Contains(r.Source, []byte(dir)) ||
		slices.ContainsFunc(r.Options, func(o string) bool { return strings.Contains(o, dir) }) ||
		slices.ContainsFunc(r.Headers, func(h key.Header) bool { return bytes.Contains(h.Content, []byte(dir)) })
}

// nameless are the options, and nameStarts the beginnings of some, with which nothing is
// made that has the program's name in it but what the source says.
var (
	nameless = []string{
		"-w", "-use_fast_math", "--use_fast_math", "-restrict", "--restrict", "-default-device", "--device-as-default-execution-space",
		"-extra-device-vectorization", "--extra-device-vectorization", "-disable-warnings", "--disable-warnings",
		"-display-error-number", "--display-error-number", "-no-display-error-number", "--no-display-error-number",
		"-rdc=false", "--relocatable-device-code=false", "-device-int128", "--device-int128", "-err-no", "-no-err-no",
		"-minimal", "--minimal",
	}
	nameStarts = []string{
		"-I", "--include-path", "-D", "--define-macro", "-U", "--undefine-macro", "-std=", "--std=", "-arch", "--gpu-architecture",
		"-ftz", "--ftz", "-fmad", "--fmad", "-prec-div", "--prec-div", "-prec-sqrt", "--prec-sqrt", "-maxrregcount", "--maxrregcount",
		"-diag-", "--diag-", "-ptxas-options", "--ptxas-options", "-Xptxas", "-split-compile=", "--split-compile=",
		"-brief-diag=", "--brief-diagnostics=", "-jtd=", "--jump-table-density=", "-Ofast-compile=", "--Ofast-compile=",
		"-builtin-", "--builtin-", "-modify-stack-limit=", "--modify-stack-limit=",
	}
)

// namesNothing reports whether an option, with its argument, is one of these.
func namesNothing(piece []string) bool {
	o := piece[0]
	return slices.Contains(nameless, o) ||
		slices.ContainsFunc(nameStarts, func(s string) bool { return strings.HasPrefix(o, s) })
}

// NameOf returns the name of the program that a recipe was made of; "" for none.
func NameOf(r *key.Recipe) string { return nameOf(r.Options.Attributes, r.Options.Unkeyed) }

// nameOf returns the name that attributes say.
func nameOf(lists ...[]key.Pair) string {
	dir, name := "", ""
	for _, attributes := range lists {
		for _, a := range attributes {
			switch a.Name {
			case NameAttribute:
				name = a.Value
			case deps.SourceDirectory:
				dir = a.Value
			}
		}
	}
	return dir + name
}

// rename returns a log with one program's name in the place of another, where it stands
// as a name does.
func rename(log []byte, from, to string) []byte {
	if from == to || from == "" || to == "" || !bytes.Contains(log, []byte(from)) {
		return log
	}
	out := make([]byte, 0, len(log)+len(to))
	for rest := log; ; {
		i := bytes.Index(rest, []byte(from))
		if i < 0 {
			return append(out, rest...)
		}
		end := i + len(from)
		whole := (i == 0 || !inName(rest[i-1])) && (end == len(rest) || !inName(rest[end]))
		out = append(out, rest[:i]...)
		if whole {
			out = append(out, to...)
		} else {
			out = append(out, from...)
		}
		rest = rest[end:]
	}
}

// inName reports whether a character goes on with a name of a file.
func inName(c byte) bool {
	return c == '_' || c == '-' || c == '.' || c == '/' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}
