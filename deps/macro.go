package deps

import (
	"slices"
	"strings"
)

// macro is one definition of a macro.
type macro struct {
	text []byte // logical text, in which the definition begins at
	at   int    // behind the name

	parsed   bool
	call     bool // it takes arguments
	params   []string
	variadic bool // the last parameter takes all further arguments
	body     []token
	bad      bool // no compiler takes it, or not all read it alike
}

// parse reads the definition, once it is needed.
func (m *macro) parse() {
	if m.parsed {
		return
	}
	m.parsed = true
	m.call = m.at < len(m.text) && m.text[m.at] == '('
	m.body = lex(m.text, m.at)
	if m.call {
		m.parameters()
	}
	for _, t := range m.body {
		if t.kind == odd || t.text == "__VA_OPT__" {
			m.bad = true
		}
	}
}

// parameters takes "(a, b, ...)" from the front of the body.
func (m *macro) parameters() {
	m.bad = true
	for i := 1; i < len(m.body); i++ {
		switch t := m.body[i]; {
		case t.is(")"):
			m.body, m.bad = m.body[i+1:], false
			return
		case t.is(","):
		case t.kind == identifier && !m.variadic:
			m.params = append(m.params, t.text)
		case t.is(".") && i+2 < len(m.body) && m.body[i+1].is(".") && m.body[i+2].is(".") && !m.variadic:
			if m.variadic = true; m.body[i-1].kind != identifier {
				m.params = append(m.params, "__VA_ARGS__")
			}
			i += 2
		default:
			return
		}
	}
}

func (m *macro) param(t token) int {
	if t.kind != identifier {
		return -1
	}
	return slices.Index(m.params, t.text)
}

// names holds every definition that a macro may have where it is used.
type names struct {
	defs map[string][]*macro
	// free are names that may also be undefined where they are used: all that
	// a source defines, since that may come later or be skipped.
	free map[string]bool
	// blind says that the macros of the options are not known.
	blind bool
	left  int // work that may still be done to expand, in tokens
}

// spend takes some of the work that may be done for one unit.
func (n *names) spend(work int) error {
	if n.left -= work; n.left < 0 {
		return errLong
	}
	return nil
}

func newNames() *names {
	return &names{defs: make(map[string][]*macro), free: make(map[string]bool), left: maxWork}
}

func (n *names) define(name string, m *macro) { n.defs[name] = append(n.defs[name], m) }

// options takes the macros that the words of options define. What is quoted is
// read differently by drivers, so it stands for any text.
func (n *names) options(words []string) {
	for i := 0; i < len(words); i++ {
		w := words[i]
		if !settled(w) {
			n.blind = true
			continue
		}
		rest, ok := "", false
		for _, o := range []string{"--define-macro", "-define-macro", "--undefine-macro", "-D", "-U"} {
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
			n.blind = n.blind || !settled(rest)
		}
		if strings.HasSuffix(w, "U") || strings.HasPrefix(w, "--un") {
			n.free[rest] = true
			continue
		}
		n.option(rest)
	}
}

// option takes NAME, NAME=VALUE or NAME(PARAMETERS)=VALUE.
func (n *names) option(d string) {
	head, value, ok := strings.Cut(d, "=")
	if !ok {
		value = "1"
	}
	name := head
	if i := strings.IndexByte(head, '('); i >= 0 {
		name = head[:i]
	}
	m := &macro{text: []byte(head + " " + value + "\n"), at: len(name)}
	if strings.ContainsAny(d, "\"'\\\n\r\t") || strings.Contains(d, "/*") || strings.Contains(d, "??") {
		m.parsed, m.bad = true, true
	}
	if strings.Contains(d, "//") {
		// No comment where the compiler takes the value apart itself.
		m.parsed, m.bad = true, true
	}
	n.define(name, m)
}

// choices returns in how many ways name may be defined; of these, the last may
// be that it is not.
func (n *names) choices(name string) int {
	c := len(n.defs[name])
	if c > 0 && n.free[name] {
		c++
	}
	return c
}

// unsure says whether a name that is not defined by a source or an option, as
// far as is known, may be defined by the compiler.
func (n *names) unsure(name string) bool {
	if len(n.defs[name]) > 0 {
		return compilers(name)
	}
	return predefined(name)
}

// predefined says whether a compiler may have a macro of the name that no
// source defines. Such a name is reserved, or one of those that the systems and
// OpenCL's own headers took.
func predefined(name string) bool {
	if isReserved(name) {
		return true
	}
	return startsSo(name, openCL) || slices.Contains(systems, name)
}

// compilers says whether a name that a source defines may be one that a
// compiler has defined already, and with another value.
func compilers(name string) bool {
	return isReserved(name) && (strings.HasSuffix(name, "__") || startsSo(name, reserved)) ||
		startsSo(name, openCL) || slices.Contains(systems, name)
}

func isReserved(name string) bool {
	return len(name) > 1 && name[0] == '_' && (name[1] == '_' || name[1] >= 'A' && name[1] <= 'Z')
}

var (
	openCL   = words("cl_ CL_ CLK_ FP_ FLT_ DBL_ HALF_ M_ _cl_ pocl POCL")
	systems  = words("linux unix i386 arm sparc mips hpux sun sgi vax WIN32 NULL INFINITY NAN MAXFLOAT HUGE_VAL HUGE_VALF")
	reserved = words(`__OPENCL __CL __clang __CLANG __llvm __LLVM __GNU __gnu __GXX __GCC __GLIBCXX_ __GLIBCXX_TYPE __CUDA
		__NV __HIP __AMD __amd __gfx __GFX __STDC __cplusplus __cpp_ __has_ __INTEL __SPIR __ENDIAN __SIZEOF __VERSION
		__R600 __IMAGE __EMBEDDED __FAST __FINITE __OPTIMIZE __linux __unix __x86 __i3 __i4 __i5 __i6 __arm __aarch
		__ARM __FLT __DBL __INT __UINT __CHAR __BYTE __ORDER __EDG __POCL __APPLE __MAC _MSC _WIN _LP64 __LP64 _ILP32
		_OPENMP _OPENACC _GNU_SOURCE _REENTRANT _FORTIFY __NO_ __USER_LABEL __REGISTER __GXX __DEPRECATED __EXCEPTIONS`)
)
