package records

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// maxName bounds the name of an application, in bytes.
const maxName = 64

// Application returns the name of this process's program. It never has arguments in it.
var Application = sync.OnceValue(func() string {
	exe, err := os.Executable()
	if err != nil {
		exe = os.Args[0]
	}
	args := os.Args
	if b, err := os.ReadFile("/proc/self/cmdline"); err == nil { // of a host that is no Go program
		args = nil
		for arg := range bytes.SplitSeq(bytes.TrimSuffix(b, []byte{0}), []byte{0}) {
			if args = append(args, string(arg)); len(args) > 64 {
				break
			}
		}
	}
	return Name(exe, args)
})

// An interpreter is a program that people know by what it runs.
type interpreter struct {
	name    string // that its files begin with; a version may follow
	valued  string // letters of options that take a value
	none    string // letters of options after which no script follows: the code itself does
	module  string // the letter of the option whose value is a module
	scripts []string
	longs   []string // options that take a value which may look like a script
}

// Of those that know no extensions the first word that is no option is the script.
var interpreters = []interpreter{
	{"python", "WXQ", "c", "m", nil, []string{"--check-hash-based-pycs"}},
	{"pypy", "WX", "c", "m", nil, []string{"--check-hash-based-pycs"}},
	{"node", "rC", "ep", "", []string{".js", ".mjs", ".cjs", ".ts"}, []string{"--require", "--import", "--loader", "--experimental-loader"}},
	{"julia", "JtpLCO", "eE", "", []string{".jl"}, []string{"--load", "--sysimage"}},
	{"ruby", "rICEFT", "e", "", []string{".rb"}, nil},
	{"perl", "IMmx", "eE", "", []string{".pl"}, nil},
	{"lua", "l", "e", "", []string{".lua"}, nil},
}

// Name returns what people know a program by: its file's name, or, where it is an interpreter, that of the
// script or module that it runs. Nothing else of its arguments is in it.
func Name(exe string, args []string) string {
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(exe), " (deleted)"), ".exe")
	for _, in := range interpreters {
		version, is := strings.CutPrefix(name, in.name)
		if is && strings.Trim(version, "0123456789.tdji-") == "" && len(args) > 1 {
			if script := in.script(args[1:]); script != "" {
				name = script
			}
			break
		}
	}
	return cut(name, maxName)
}

// script returns the name of what an interpreter with these arguments runs; "": that cannot be told.
func (in *interpreter) script(args []string) string {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		next := func() string {
			if i+1 < len(args) {
				return args[i+1]
			}
			return ""
		}
		switch {
		case arg == "--" && in.scripts == nil:
			return base(next())
		case arg == "" || arg == "-":
			return ""
		case strings.HasPrefix(arg, "--"):
			if slices.Contains(in.longs, arg) {
				i++
			}
		case arg[0] == '-':
			for j, letter := range arg[1:] {
				rest := arg[1+j+1:]
				switch {
				case letter >= 0x80 || strings.ContainsRune(in.none, letter):
					return ""
				case strings.ContainsRune(in.module, letter):
					if rest == "" {
						rest = next()
					}
					return module(rest)
				case strings.ContainsRune(in.valued, letter):
					if rest == "" {
						i++
					}
				default:
					continue
				}
				break
			}
		case in.scripts == nil || slices.Contains(in.scripts, filepath.Ext(arg)):
			return base(arg)
		case i+1 == len(args):
			return ""
		}
	}
	return ""
}

func base(path string) string {
	if path == "" {
		return ""
	}
	name := filepath.Base(path)
	if name == "__main__.py" || name == "." || name == "/" {
		return ""
	}
	return name
}

// module returns a name of a module; "" for what is none.
func module(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool {
		return !(r == '.' || r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x80)
	}) {
		return ""
	}
	return name
}
