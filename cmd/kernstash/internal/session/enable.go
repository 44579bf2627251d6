// Package session switches the cache on for unchanged applications: for a session, for
// one application, or by variables that others set.
package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/launch"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
)

// Disable removes what 'kernstash enable' wrote for the session, or for a program.
func Disable(a *cli.App, program string, named bool) error {
	path, err := File()
	if program != "" || named {
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
	if program != "" {
		session = enabledSession()
	}
	switch {
	case a.JSON:
		err = a.WriteJSON(switchReport{Path: path, Enabled: session != "", Changed: removed})
	case removed:
		a.Printf("removed %s\n", path)
	default:
		a.Printf("there is no %s\n", path)
	}
	if err != nil || session == "" {
		return err
	}
	fmt.Fprintf(a.Err, "kernstash: %s has the cache all the same: it is on for the whole session (%s); "+
		"'kernstash disable' switches that off, 'kernstash run --no-cache -- %[1]s' does without once\n", program, session)
	return cli.ErrFound
}

// enabledSession returns the file that switches the cache on for the session, "" for none.
func enabledSession() string {
	path, err := File()
	if err != nil {
		return ""
	}
	if _, is, err := OwnFile(path).Read(); err != nil || !is {
		return ""
	}
	return path
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
func EnableSession(a *cli.App, cmd *cobra.Command, o *launch.Options) error {
	path, err := File()
	if err != nil {
		return err
	}
	o.NoPreload = true // nothing is to be preloaded into every program
	if o.Door == launch.DoorAuto {
		o.Door = launch.DoorLayer
		if loader := launch.LoaderFile(); loader != "" && !launch.KnowsLayers(loader) {
			o.Door = launch.DoorPreload
		}
	}
	all, err := variables(a, cmd, o, nil)
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
		case launch.LayersVariable:
			value += "${" + v.Name + ":+:$" + v.Name + "}"
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
func EnableApp(a *cli.App, cmd *cobra.Command, o *launch.Options, program string) error {
	path, err := appFile(program)
	if err != nil {
		return err
	}
	if err := o.Check(cmd.Flags()); err != nil {
		return err
	}
	dir := filepath.Dir(path)
	dirs := filepath.SplitList(os.Getenv("PATH"))
	at := slices.IndexFunc(dirs, func(d string) bool { return sameDir(d, dir) })
	found, err := findOther(program, slices.DeleteFunc(slices.Clone(dirs), func(d string) bool { return sameDir(d, dir) }))
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
	first := slices.IndexFunc(dirs, func(d string) bool { return sameDir(d, filepath.Dir(found)) })
	if at < 0 || at > first {
		fmt.Fprintf(a.Err, "kernstash: warning: %s does not come before %s in PATH, so the script is not what %s leads to\n",
			dir, filepath.Dir(found), program)
	}
	return nil
}

// sameDir says whether two names lead to one directory: PATH may name it through a
// link, or with a slash behind it.
func sameDir(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// findOther finds a program that is no script of 'kernstash enable': that would
// start itself for ever.
func findOther(program string, dirs []string) (string, error) {
	for {
		found, err := launch.FindCommand(program, strings.Join(dirs, string(filepath.ListSeparator)))
		if err != nil {
			return "", err
		}
		real, err := filepath.EvalSymlinks(found)
		if err != nil {
			return "", err
		}
		if _, is, err := OwnFile(real).Read(); !is || err != nil {
			return found, nil
		}
		dirs = slices.DeleteFunc(dirs, func(d string) bool { return sameDir(d, filepath.Dir(found)) })
	}
}

// runFlags returns the flags for 'kernstash run', as words of a shell.
func runFlags(a *cli.App, o *launch.Options) (string, error) {
	o.Global = a.Global
	all, err := o.Variables()
	if err != nil {
		return "", err
	}
	s, err := a.Settings()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, v := range all {
		for _, item := range s.All() {
			if item.Variable == v.Name {
				b.WriteString(" --set " + quoteShell(item.Name+"="+v.Value))
			}
		}
	}
	if o.Door != launch.DoorAuto {
		if err := launch.CheckDoor(o.Door); err != nil {
			return "", err
		}
		b.WriteString(" --door " + o.Door)
	}
	return b.String(), nil
}

func writeOwn(a *cli.App, path, before, text string, mode os.FileMode, note string) error {
	if err := OwnFile(path).write(before, text, mode); err != nil {
		return fmt.Errorf("enable: %w", err)
	}
	if a.JSON {
		return a.WriteJSON(switchReport{Path: path, Enabled: true, Changed: true})
	}
	a.Printf("wrote %s: the cache is on, %s\n", path, note)
	return nil
}

// switchReport is what `enable --json` and `disable --json` write.
type switchReport struct {
	Path    string `json:"path"`    // the file that switches it on
	Enabled bool   `json:"enabled"` // it is there now; of an application: or that of the session is
	Changed bool   `json:"changed"` // it was written, or removed
}
