package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/internal/launch"
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
	{"fish", true, func(v launch.Variable) string { return "set -gx " + v.Name + " " + quoteFish(v.Value) }},
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

func quoteFish(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}

func (a *app) envCommand() *cobra.Command {
	var o launch.Options
	var name string
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Print the variables that 'kernstash run' sets",
		Long: `Print the variables that bring the cache into programs, for those who set them
themselves:

  sh, bash, zsh, fish  commands for a shell; what its variables hold already is kept
  systemd              lines for the [Service] section of a unit, with a cache
                       directory unless --dir names one
  docker               lines for a Dockerfile
  k8s                  entries for the env list of a container

In containers the paths are those inside: put the libraries there, or give
KERNSTASH_LIBDIR, and mount a cache directory.

EXIT STATUS
  0  printed
  1  the libraries are not found; the message says where they were looked for
  2  a flag makes no sense`,
		Example: `  eval "$(kernstash env)"
  kernstash env --shell fish | source
  kernstash env --shell systemd --dir /var/cache/kernstash
  kernstash env --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			i := slices.IndexFunc(shells, func(s shell) bool { return s.name == name })
			if i < 0 {
				return usagef("--shell %s: want sh, bash, zsh, fish, systemd, docker or k8s", name)
			}
			var env []string
			if shells[i].here {
				env = os.Environ()
			}
			all, err := a.variables(cmd, &o, env)
			if err != nil {
				return err
			}
			if a.json {
				return a.writeJSON(all)
			}
			for _, v := range all {
				a.printf("%s\n", shells[i].write(v))
			}
			if name == "systemd" && !o.NoCache && !slices.ContainsFunc(all, func(v launch.Variable) bool { return v.Name == "KERNSTASH_DIR" }) {
				a.printf("%s", systemdCache)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&name, "shell", "sh", "sh, bash, zsh, fish, systemd, docker or k8s")
	names := make([]string, len(shells))
	for i, s := range shells {
		names[i] = s.name
	}
	_ = cmd.RegisterFlagCompletionFunc("shell", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	o.BindSettings(cmd.Flags())
	completeDoor(cmd)
	return cmd
}

// variables returns what brings the cache into programs, beside what an
// environment has already.
func (a *app) variables(cmd *cobra.Command, o *launch.Options, env []string) ([]launch.Variable, error) {
	if err := o.Check(cmd.Flags()); err != nil {
		return nil, &usageError{err}
	}
	o.Dir, o.Config, o.Set = a.dir, a.config, a.set
	all, err := o.Variables()
	if err != nil {
		return nil, &usageError{err}
	}
	if o.NoCache {
		return all, nil
	}
	if err := launch.CheckDoor(o.Door); err != nil {
		return nil, &usageError{err}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	libraries, err := launch.Find(os.Environ(), self)
	if err != nil {
		return nil, err
	}
	if o.NoPreload {
		libraries.Preload = ""
	}
	libraries, cannot := libraries.Preloadable()
	if cannot != nil {
		fmt.Fprintf(a.err, "kernstash: warning: %s\n", printable(cannot.Error(), false))
	}
	entry, err := launch.Variables(env, libraries, o.Door)
	return append(all, entry...), err
}

// commandPath is what to call to be called again: not the whole command where a
// smaller one stands before it.
func commandPath() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("where this command is: %w", err)
	}
	dir := filepath.Dir(self)
	if filepath.Base(self) == "kernstash-full" {
		for _, front := range []string{filepath.Join(dir, "..", "..", "bin", "kernstash"), filepath.Join(dir, "kernstash")} {
			if _, err := os.Stat(front); err == nil {
				return filepath.Clean(front), nil
			}
		}
	}
	return self, nil
}
