// Package session switches the cache on: for a session, for one application, or by variables.
package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/compile"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/launch"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
)

// Disable removes what 'kernstash enable' wrote for the session, or for a program.
func Disable(a *cli.App, program string, named bool) error {
	path, err := File()
	if named {
		path, err = appFile(program)
	}
	if err != nil {
		return err
	}
	removed, err := OwnFile(path).remove()
	if err != nil {
		return fmt.Errorf("disable: %w", err)
	}
	session := ""
	if path, err := File(); err == nil && program != "" {
		if _, is, err := OwnFile(path).Read(); err == nil && is {
			session = path // switches the cache on
		}
	}
	err = a.Report(switchReport{Path: path, Enabled: session != "", Changed: removed}, true, func() {
		if removed {
			a.Printf("removed %s\n", path)
		} else {
			a.Printf("there is no %s\n", path)
		}
	})
	if err != nil || session == "" {
		return err
	}
	fmt.Fprintf(a.Err, "kernstash: %s has the cache all the same: it is on for the whole session (%s); "+
		"'kernstash disable' switches that off, 'kernstash run --no-cache -- %[1]s' does without once\n", program, session)
	return cli.ErrFound
}

// File is where systemd reads variables of the user's session.
func File() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "environment.d", "50-kernstash.conf"), nil
}

// appFile is where the script of an application goes.
func appFile(program string) (string, error) {
	if program == "" || strings.ContainsAny(program, "/\n") || strings.HasPrefix(program, "-") || strings.HasPrefix(program, ".") ||
		program == "kernstash" {
		return "", cli.Usagef("--app %q: want the name of a program, without its directory", program)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".local", "bin", program), nil
}

// EnableSession switches the cache on for the session.
func EnableSession(a *cli.App, o *launch.Options) error {
	path, err := File()
	if err != nil {
		return err
	}
	o.NoPreload = true // nothing is to be preloaded into every program
	if o.Inject == launch.InjectAuto {
		o.Inject = launch.InjectLayer
		if loader := runtimes.Layers().LoaderFile(); loader != "" && !runtimes.Layers().Known(loader) {
			o.Inject = launch.InjectPreload
		}
	}
	all, err := variables(a, o, nil, true)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, v := range all {
		value := Escape(v.Value)
		switch v.Name {
		case "LD_PRELOAD":
			return errors.New("enable: the " + runtimes.Layered() + " loader of this system knows no layers, and nothing is to be " +
				"preloaded into every program: enable applications one by one, with --app")
		case runtimes.Layers().Variable:
			value += "${" + v.Name + ":+:$" + v.Name + "}"
		}
		if compile.Launchers[v.Name] != "" {
			value = "${" + v.Name + ":-" + value + "}"
		}
		fmt.Fprintf(&b, "%s=%s\n", v.Name, value)
	}
	return writeOwn(a, path, "", b.String(), 0o644, "from the next login")
}

// Escape writes a value as environment.d(5) reads it.
func Escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, "$", `\$`, `"`, `\"`, "'", `\'`, " ", `\ `).Replace(s)
}

// EnableApp switches the cache on for one program.
func EnableApp(a *cli.App, o *launch.Options, program string) error {
	path, err := appFile(program)
	if err != nil {
		return err
	}
	found, err := launch.FindCommand(program, os.Getenv("PATH"), isScript)
	if err != nil {
		return fmt.Errorf("enable: %w", err)
	}
	if found, err = filepath.Abs(found); err != nil {
		return err
	}
	command, err := cli.CommandPath()
	if err != nil {
		return err
	}
	flags, err := runFlags(a, o)
	if err != nil {
		return err
	}
	script := fmt.Sprintf(`kernstash=%s
program=%s
[ ! -x "$kernstash" ] || exec "$kernstash" run --quiet%s -- "$program" "$@"
exec "$program" "$@"
`, quoteShell(command), quoteShell(found), flags)
	if err := writeOwn(a, path, "#!/bin/sh\n", script, 0o755, "for "+found); err != nil {
		return err
	}
	if first, err := launch.FindCommand(program, os.Getenv("PATH"), nil); err != nil || !sameFile(first, path) {
		fmt.Fprintf(a.Err, "kernstash: warning: %s does not come before %s in PATH, so the script is not what %s leads to\n",
			filepath.Dir(path), filepath.Dir(found), program)
	}
	return nil
}

// sameFile says whether two paths lead to one file: PATH may name its directory through a link.
func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	other, otherErr := os.Stat(b)
	return err == nil && otherErr == nil && os.SameFile(one, other)
}

// isScript reports whether a program is a script of 'kernstash enable', which would start itself
// for ever, or may be one.
func isScript(file string) bool {
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return true
	}
	_, is, err := OwnFile(real).Read()
	return is && err == nil
}

// runFlags returns the flags for 'kernstash run', as words of a shell.
func runFlags(a *cli.App, o *launch.Options) (string, error) {
	o.Global = a.Global
	all, err := o.Chosen()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, item := range all {
		b.WriteString(" --set " + quoteShell(item.Name+"="+item.Value))
	}
	if o.Inject != launch.InjectAuto {
		b.WriteString(" --inject " + o.Inject)
	}
	if o.NoPreload {
		b.WriteString(" --no-preload")
	}
	if o.Launchers {
		b.WriteString(" --launchers")
	}
	return b.String(), nil
}

func writeOwn(a *cli.App, path, before, text string, mode os.FileMode, note string) error {
	if err := OwnFile(path).write(before, text, mode); err != nil {
		return fmt.Errorf("enable: %w", err)
	}
	return a.Report(switchReport{Path: path, Enabled: true, Changed: true}, true, func() {
		a.Printf("wrote %s: the cache is on, %s\n", path, note)
	})
}

// switchReport is what `enable --json` and `disable --json` write.
type switchReport struct {
	Path    string `json:"path"`    // the file that switches it on
	Enabled bool   `json:"enabled"` // it is there now; of an application: or that of the session is
	Changed bool   `json:"changed"` // it was written, or removed
}
