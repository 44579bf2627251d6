package session

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/launch"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/settings"
)

// shell is something that `kernstash env` writes for.
type shell struct {
	name  string
	here  bool // for this environment: what it has already is kept
	write func(v launch.Variable) string
}

var shells = []shell{
	{"sh", true, exportShell},
	{"bash", true, exportShell},
	{"zsh", true, exportShell},
	{"fish", true, func(v launch.Variable) string {
		return "set -gx " + v.Name + " '" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(v.Value) + "'"
	}},
	{"systemd", false, func(v launch.Variable) string {
		return "Environment=" + strconv.Quote(strings.ReplaceAll(v.Name+"="+v.Value, "%", "%%"))
	}},
	{"docker", false, func(v launch.Variable) string {
		return "ENV " + v.Name + "=" + strconv.Quote(strings.ReplaceAll(v.Value, "$", `\$`))
	}},
	{"k8s", false, func(v launch.Variable) string {
		return "- name: " + v.Name + "\n  value: " + strconv.Quote(v.Value)
	}},
}

// systemdCache gives a service a cache directory: one of the system has no HOME. For one of
// a user it is the user's own.
const systemdCache = `CacheDirectory=kernstash
CacheDirectoryMode=0700
Environment="KERNSTASH_DIR=%C/kernstash"
`

func exportShell(v launch.Variable) string { return "export " + v.Name + "=" + quoteShell(v.Value) }

// quoteShell quotes a text for POSIX shells.
func quoteShell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// Shells are the names of what env writes for.
func Shells() []string {
	names := make([]string, len(shells))
	for i, s := range shells {
		names[i] = s.name
	}
	return names
}

// Line returns what writes a variable for a shell of a name.
func Line(name string) (func(name, value string) string, error) {
	i, err := shellNamed(name)
	return func(name, value string) string { return shells[i].write(launch.Variable{Name: name, Value: value}) }, err
}

func shellNamed(name string) (i int, err error) {
	if i = slices.IndexFunc(shells, func(s shell) bool { return s.name == name }); i < 0 {
		err = cli.Usagef("--shell %s: want sh, bash, zsh, fish, systemd, docker or k8s", name)
	}
	return i, err
}

// PrintEnv prints the variables that bring the cache into programs, for a shell of a name.
func PrintEnv(a *cli.App, o *launch.Options, name string) error {
	i, err := shellNamed(name)
	if err != nil {
		return err
	}
	var env []string
	if shells[i].here {
		env = os.Environ()
	}
	all, err := variables(a, o, env, shells[i].here)
	if err != nil {
		return err
	}
	return a.Report(all, true, func() {
		for _, v := range all {
			a.Printf("%s\n", shells[i].write(v))
		}
		if name == "systemd" && !o.NoCache && !slices.ContainsFunc(all, func(v launch.Variable) bool { return v.Name == "KERNSTASH_DIR" }) {
			a.Printf("%s", systemdCache)
		}
	})
}

// variables returns what brings the cache into programs, beside what an environment has already.
// here says that they run where this command does: then the caches of frameworks are switched on,
// in directories that are made.
func variables(a *cli.App, o *launch.Options, env []string, here bool) ([]launch.Variable, error) {
	o.Global = a.Global
	all, err := o.Variables()
	if err != nil {
		return nil, err
	}
	if o.NoCache {
		return all, nil
	}
	_, entry, missing, err := o.Entry(env, true)
	if missing != nil {
		fmt.Fprintf(a.Err, "kernstash: warning: %s\n", human.Printable(missing.Error(), false))
	}
	if all = append(all, entry...); err != nil || !here {
		return all, err
	}
	return append(all, frameworkVariables(all)...), nil
}

// frameworkVariables returns what switches on the caches of frameworks, beside variables that are set
// already and those that will be.
func frameworkVariables(all []launch.Variable) []launch.Variable {
	var environ []string
	for _, v := range all {
		environ = append(environ, v.Name+"="+v.Value) // of equal names the first counts
	}
	environ = append(environ, os.Environ()...)
	s, _ := settings.Load(settings.Inputs{Environ: environ, Lenient: true})
	return launch.MakeFrameworks(s.Dir, launch.Frameworks(s, os.Environ()))
}

// ReadVariables reads what 'kernstash enable' wrote: assignments, with what is not
// plain behind backslashes. A list goes on with the variable itself, which is left out.
func ReadVariables(path string) (map[string]string, error) {
	b, err := os.ReadFile(path)
	values := make(map[string]string)
	for line := range strings.Lines(string(b)) {
		name, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		var value strings.Builder
		for i := 0; i < len(text) && text[i] != '$'; i++ {
			if text[i] == '\\' && i+1 < len(text) {
				i++
			}
			value.WriteByte(text[i])
		}
		values[name] = value.String()
	}
	return values, err
}
