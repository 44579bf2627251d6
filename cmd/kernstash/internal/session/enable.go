// Package session switches the cache on: for a session, for one application, or by variables.
package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/compile"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/configfile"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/launch"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
)

// SystemFile is where systemd reads variables of all users' sessions.
const SystemFile = "/etc/environment.d/50-kernstash.conf"

// Disable removes the file that Enable wrote.
func Disable(a *cli.App, path string) error {
	removed, err := OwnFile(path).remove()
	if err != nil {
		return fmt.Errorf("disable: %w", asRoot(path, err))
	}
	return a.Report(switchReport{Path: path, Changed: removed}, true, func() { writeRemoved(a, path, removed) })
}

// DisableApp removes the script of a program. Where the cache is on for the whole session the settings file names the
// program as one that has none.
func DisableApp(a *cli.App, program string) error {
	path, err := appFile(program)
	if err != nil {
		return err
	}
	removed, err := OwnFile(path).remove()
	if err != nil {
		return fmt.Errorf("disable: %w", err)
	}
	report := switchReport{Path: path, Changed: removed}
	if on() {
		off := false
		if report.Settings, off, err = configfile.SwitchApp(a, program, true); err != nil {
			return fmt.Errorf("disable: %w", err)
		}
		report.Changed = removed || off
	}
	return a.Report(report, true, func() {
		writeRemoved(a, path, removed)
		if report.Settings != "" {
			a.Printf("%s has no cache from its next start: apps-off in %s names it\n", program, report.Settings)
		}
	})
}

func writeRemoved(a *cli.App, path string, removed bool) {
	if removed {
		a.Printf("removed %s\n", path)
	} else {
		a.Printf("there is no %s\n", path)
	}
}

// on reports whether the cache is on for the whole session.
func on() bool {
	path, _ := File()
	return slices.ContainsFunc([]string{path, SystemFile}, func(path string) bool {
		_, is, err := OwnFile(path).Read()
		return is && err == nil
	})
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
	if program == "" || strings.ContainsAny(program, "/\n,") || strings.HasPrefix(program, "-") || strings.HasPrefix(program, ".") ||
		program == "kernstash" {
		return "", cli.Usagef("--app %q: want the name of a program, without its directory", program)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".local", "bin", program), nil
}

// Enable switches the cache on for sessions that systemd starts, by a file: File for this user's, SystemFile for all users'.
func Enable(a *cli.App, o *launch.Options, path string) error {
	o.NoPreload = true // nothing is to be preloaded into every program
	if o.Inject == launch.InjectAuto {
		o.Inject = launch.InjectLayer
		if loader := runtimes.Layers().LoaderFile(); loader != "" && !runtimes.Layers().Known(loader) {
			o.Inject = launch.InjectPreload
		}
	}
	all, err := variables(a, o, nil, path != SystemFile) // whose caches of frameworks are in homes of their own
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

// EnableApp switches the cache on for one program. One that DisableApp has switched off in the session needs no script.
func EnableApp(a *cli.App, o *launch.Options, program string) error {
	path, err := appFile(program)
	if err != nil {
		return err
	}
	file, again, err := configfile.SwitchApp(a, program, false)
	if err != nil {
		return fmt.Errorf("enable: %w", err)
	}
	if again && on() {
		return a.Report(switchReport{Path: path, Enabled: true, Changed: true, Settings: file}, true, func() {
			a.Printf("%s has the cache of the session from its next start: apps-off in %s does not name it any more\n", program, file)
		})
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
		return fmt.Errorf("enable: %w", asRoot(path, err))
	}
	return a.Report(switchReport{Path: path, Enabled: true, Changed: true}, true, func() {
		a.Printf("wrote %s: the cache is on, %s\n", path, note)
	})
}

// asRoot says what is missing where the file of the system cannot be written.
func asRoot(path string, err error) error {
	if path == SystemFile && errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: that needs root", err)
	}
	return err
}

// switchReport is what `enable --json` and `disable --json` write.
type switchReport struct {
	Path     string `json:"path"`               // the file that switches it on
	Enabled  bool   `json:"enabled"`            // the cache is on
	Changed  bool   `json:"changed"`            // something was written, or removed
	Settings string `json:"settings,omitempty"` // the settings file, where it decides of an application in a session with the cache
}
