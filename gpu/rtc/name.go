package rtc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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

// NameDir returns the directory part of a program's name, as it is written.
func NameDir(name string) string {
	dir, _ := filepath.Split(name)
	return dir
}

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
		name := from
		if (i == 0 || !inName(rest[i-1])) && (end == len(rest) || !inName(rest[end])) {
			name = to
		}
		out = append(append(out, rest[:i]...), name...)
		rest = rest[end:]
	}
}

// inName reports whether a character goes on with a name of a file.
func inName(c byte) bool { return isWord(c, "_-./") || c >= 0x80 }

// isWord reports whether a character is a letter, a digit, or one of others.
func isWord(c byte, others string) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || strings.IndexByte(others, c) >= 0
}

// Python's tempfile names a temporary directory, as CuPy does for each program that it
// compiles, so: this and 8 random characters of these.
const (
	randomStart  = "tmp"
	randomLength = 8
	randomFrom   = "abcdefghijklmnopqrstuvwxyz0123456789_"
)

// splitRandom splits a directory, which ends with a slash, whose name is random and which
// is directly below that of temporary files. Two of one parent differ in random alone.
// Both are "" for any other directory.
func splitRandom(dir string) (parent, random string) {
	dir = strings.TrimSuffix(dir, "/")
	parent = NameDir(dir)
	random, ok := strings.CutPrefix(dir[len(parent):], randomStart)
	if !ok || len(random) != randomLength || strings.Trim(random, randomFrom) != "" ||
		!slices.Contains([]string{"/tmp", "/var/tmp", strings.TrimSuffix(os.TempDir(), "/")}, strings.TrimSuffix(parent, "/")) {
		return "", ""
	}
	return parent, random
}

// shown is how many of the random characters in a row count as some of them, since code
// copies texts by numbers of so many bytes, or of more, or by single ones.
const shown = 4

// shows reports whether the output may have the random part of the directory of a program's name in
// it, other than as a part of that name in the log: as a text, or as numbers that code is made of.
// What code computes of a path is not to be seen: it is as random as the path.
func (o *Output) shows(name string) bool {
	parent, random := splitRandom(NameDir(name))
	ptx, ok := o.Get(PTX)
	if random == "" || !ok {
		return true
	}
	hidden := parent + randomStart + strings.Repeat("*", len(random)) + "/" + name[len(NameDir(name)):]
	whole, narrow := numbers(ptx)
	texts := [][]byte{rename(o.log.Data, name, hidden), ptx, whole}
	for f, a := range o.forms {
		if f := Form(f); f == CUBIN {
			texts = append(texts, a.Data)
		} else if f != PTX && len(a.Data) > 0 {
			return true // it packs bits
		}
	}
	for _, l := range o.lowered {
		texts = append(texts, []byte(l.Name))
	}
	for i := range len(random) - shown + 1 {
		some := []byte(random[i : i+shown])
		if slices.ContainsFunc(texts, func(text []byte) bool { return bytes.Contains(text, some) }) {
			return true
		}
	}
	return strings.IndexFunc(random, func(c rune) bool { return !narrow[c] }) < 0
}

// numbers returns the whole numbers in PTX, but those between brackets, as the bytes that
// they are in memory: texts are lists of them. narrow are the bytes of those in instructions
// on 8 and 16 bits.
func numbers(ptx []byte) (whole []byte, narrow [256]bool) {
	for line := range bytes.Lines(ptx) {
		opcode := ""
		for i := 0; i < len(line); {
			from := i
			switch {
			case line[i] == '[':
				for i < len(line) && line[i] != ']' {
					i++
				}
				continue
			case !inNumber(line[i]):
				i++
				continue
			}
			for i < len(line) && inNumber(line[i]) {
				i++
			}
			word := line[from:i]
			if c := word[0]; c < '0' || c > '9' {
				if opcode == "" && c != '%' {
					opcode = string(word)
				}
				continue
			}
			n, err := strconv.ParseUint(strings.TrimRight(string(word), "U"), 0, 64)
			if err != nil {
				continue // a floating-point number
			}
			if n <= 0xff {
				whole = append(whole, byte(n))
			} else {
				whole = binary.LittleEndian.AppendUint64(whole, n)
			}
			if strings.HasSuffix(opcode, "8") || strings.HasSuffix(opcode, "16") {
				narrow[byte(n)], narrow[byte(n>>8)] = true, true
			}
		}
	}
	return whole, narrow
}

// inNumber reports whether a character is one of numbers, and of names, in PTX.
func inNumber(c byte) bool { return isWord(c, "_$%.") }
