package main

import (
	"strconv"
	"strings"
)

// demangle returns the name of a kernel as its source has it, "scale<float>", without
// its parameters, if name is one that C++ compilers made of such; else name.
func demangle(name string) string {
	const longest = 4096
	rest, ok := strings.CutPrefix(name, "_Z")
	if !ok || len(name) > longest {
		return name
	}
	d := mangled{rest: rest}
	if text := d.name(); !d.bad {
		return text
	}
	return name
}

// mangled is what is left of a name of the Itanium C++ ABI. What is not understood is
// bad: template arguments other than plain types and numbers, substitutions, operators.
type mangled struct {
	rest string
	bad  bool
}

func (m *mangled) take(prefix string) bool {
	rest, ok := strings.CutPrefix(m.rest, prefix)
	m.rest = rest
	return ok
}

func (m *mangled) fail() string {
	m.bad = true
	return ""
}

// name reads a name with its namespaces and template arguments.
func (m *mangled) name() string {
	if !m.take("N") {
		return m.part()
	}
	var parts []string
	for !m.bad && !m.take("E") {
		parts = append(parts, m.part())
	}
	return strings.Join(parts, "::")
}

func (m *mangled) part() string {
	m.take("L") // of internal linkage
	digits := len(m.rest) - len(strings.TrimLeft(m.rest, "0123456789"))
	n, err := strconv.Atoi(m.rest[:digits])
	if err != nil || n == 0 || n > len(m.rest)-digits {
		return m.fail()
	}
	text := m.rest[digits : digits+n]
	m.rest = m.rest[digits+n:]
	if strings.HasPrefix(text, "_GLOBAL__N_") {
		text = "(anonymous namespace)"
	}
	if m.take("I") {
		text += "<" + m.arguments() + ">"
	}
	return text
}

func (m *mangled) arguments() string {
	var all []string
	for !m.bad && !m.take("E") {
		all = append(all, m.argument())
	}
	return strings.Join(all, ", ")
}

func (m *mangled) argument() string {
	switch {
	case m.take("J"): // a pack
		return m.arguments()
	case m.take("L"):
		return m.number()
	}
	return m.typeName()
}

// number reads a number or a truth, behind its type.
func (m *mangled) number() string {
	kind := m.typeName()
	value, rest, ok := strings.Cut(m.rest, "E")
	if !ok || value == "" || strings.Trim(value, "n0123456789") != "" {
		return m.fail()
	}
	m.rest = rest
	value = strings.Replace(value, "n", "-", 1)
	switch {
	case kind == "bool" && value == "1":
		return "true"
	case kind == "bool" && value == "0":
		return "false"
	}
	return value
}

var builtinTypes = map[string]string{
	"v": "void", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short", "t": "unsigned short",
	"i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long", "y": "unsigned long long",
	"f": "float", "d": "double", "w": "wchar_t", "n": "__int128", "o": "unsigned __int128",
}

func (m *mangled) typeName() string {
	switch {
	case m.bad || m.rest == "":
		return m.fail()
	case m.take("P"):
		return m.typeName() + "*"
	case m.take("K"):
		return m.typeName() + " const"
	case m.take("Dh"), m.take("DF16_"):
		return "half"
	case m.rest[0] == 'N' || m.rest[0] >= '1' && m.rest[0] <= '9':
		return m.name()
	}
	text, ok := builtinTypes[m.rest[:1]]
	if !ok {
		return m.fail()
	}
	m.rest = m.rest[1:]
	return text
}
