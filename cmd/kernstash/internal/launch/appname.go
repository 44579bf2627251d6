package launch

import (
	"path/filepath"
	"slices"
	"strings"
)

// interpreters are programs that are known by what they run: by the beginnings of their names, with the flags that
// are followed by a word of their own.
var interpreters = []struct {
	names []string
	flags []string
	code  string // the flag behind which there is no file, but code
}{
	{[]string{"python", "pypy"}, []string{"-W", "-X", "--check-hash-based-pycs"}, "-c"},
	{[]string{"sh", "bash", "dash", "zsh", "ksh"}, []string{"-o", "+o", "-O", "+O", "--rcfile", "--init-file"}, "-c"},
	{[]string{"perl", "ruby"}, []string{"-I", "-r"}, "-e"},
	{[]string{"node", "julia", "lua", "Rscript"}, []string{"-r", "--require", "-t", "-p", "-l"}, "-e"},
}

// appName returns what a command is called as an application: the name of its file, of an interpreter that of the script, or
// of Python's module (-m).
func appName(command []string) string {
	base := filepath.Base(command[0])
	for _, i := range interpreters {
		version := func(name string) bool {
			rest, ok := strings.CutPrefix(base, name)
			return ok && strings.Trim(rest, "0123456789.-") == ""
		}
		if slices.ContainsFunc(i.names, version) {
			return scriptName(command[1:], i.flags, i.code, i.names[0] == "python", base)
		}
	}
	return base
}

// scriptName returns the name of what the arguments of an interpreter run; otherwise: they name no file.
func scriptName(args, flags []string, code string, modules bool, otherwise string) string {
	for n := 0; n < len(args); n++ {
		switch arg := args[n]; {
		case modules && strings.HasPrefix(arg, "-m"):
			if name := strings.TrimPrefix(arg, "-m"); name != "" {
				return name
			}
			if n+1 < len(args) {
				return args[n+1]
			}
			return otherwise
		case arg == code, arg == "-":
			return otherwise
		case arg == "--" && n+1 < len(args):
			return filepath.Base(args[n+1])
		case slices.Contains(flags, arg):
			n++
		case !strings.HasPrefix(arg, "-") && arg != "":
			return filepath.Base(arg)
		}
	}
	return otherwise
}
