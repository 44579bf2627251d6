package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/configfile"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/launch"
)

// app is an application that is switched on or off.
type app struct {
	name   string
	script OwnFile // where its script is, or would be
	found  string  // the program that the script starts; "": it needs no script
	was    bool    // there was a script
	listed bool    // the setting apps-off was changed
}

// appReport is what `enable --json` and `disable --json` write of an application.
type appReport struct {
	App     string `json:"app"`
	Path    string `json:"path"` // of its script
	Changed bool   `json:"changed"`
}

// appsOf checks the names of programs, and returns each once.
func appsOf(programs []string) ([]*app, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	var all []*app
	for _, name := range programs {
		if name == "kernstash" {
			return nil, cli.Usagef("--app %s: want an application, not kernstash itself", name)
		}
		if name == "" || strings.ContainsAny(name, "/\n,") || strings.HasPrefix(name, "-") || strings.HasPrefix(name, ".") {
			return nil, cli.Usagef("--app %q: want the name of a program, without its directory", name)
		}
		if !slices.ContainsFunc(all, func(other *app) bool { return other.name == name }) {
			all = append(all, &app{name: name, script: OwnFile(filepath.Join(home, ".local", "bin", name))})
		}
	}
	return all, nil
}

// EnableApps switches the cache on for programs: for all of them, or for none. One that DisableApps has switched off in the
// session needs no script, and none is written for what PATH does not lead to.
func EnableApps(a *cli.App, o *launch.Options, programs []string) error {
	apps, err := appsOf(programs)
	if err != nil {
		return err
	}
	flags, err := runFlags(a, o)
	if err != nil {
		return err
	}
	command, err := cli.CommandPath()
	if err != nil {
		return err
	}
	off, session := configfile.AppsOff(a), on()
	for _, p := range apps {
		listed := slices.Contains(off, p.name)
		if session && listed {
			continue
		}
		if p.found, err = cli.FindCommand(p.name, os.Getenv("PATH"), isScript); err == nil {
			p.found, err = filepath.Abs(p.found)
		} else if listed { // to be taken out is all that it needs
			p.found = ""
			continue
		}
		if err == nil {
			_, _, err = p.script.Read() // a file of others is found before anything is written
		}
		if err != nil {
			return fmt.Errorf("enable: %w", err)
		}
	}
	settings, err := change(a, apps, switching{setting: true}, func(p *app) error {
		if p.found == "" {
			return nil
		}
		return p.script.write("#!/bin/sh\n", fmt.Sprintf(`kernstash=%s
program=%s
[ ! -x "$kernstash" ] || exec "$kernstash" run --quiet%s -- "$program" "$@"
exec "$program" "$@"
`, quoteShell(command), quoteShell(p.found), flags), 0o755)
	})
	if err != nil {
		return fmt.Errorf("enable: %w", err)
	}
	report := reportOf(apps, func(p *app) bool { return p.found != "" || p.listed })
	report.Enabled = true
	if slices.ContainsFunc(apps, func(p *app) bool { return p.listed && p.found == "" }) {
		report.Settings = settings
	}
	err = a.Report(report, true, func() {
		for _, p := range apps {
			if p.found == "" {
				whose := "the cache of the session"
				if !session {
					whose = "the cache under 'kernstash run'"
				}
				a.Printf("%s has %s from its next start: apps-off in %s does not name it any more\n", p.name, whose, settings)
			} else {
				a.Printf("wrote %s: the cache is on, for %s\n", p.script, p.found)
			}
		}
	})
	for _, p := range apps {
		if p.found == "" {
			continue
		}
		if first, err := cli.FindCommand(p.name, os.Getenv("PATH"), nil); err != nil || !sameFile(first, string(p.script)) {
			fmt.Fprintf(a.Err, "kernstash: warning: %s does not come before %s in PATH, so the script is not what %s leads to\n",
				filepath.Dir(string(p.script)), filepath.Dir(p.found), p.name)
		}
	}
	return err
}

// DisableApps removes the scripts of programs: all of them, or none. Where the cache is on for the whole session the settings file
// names the programs as such that have none.
func DisableApps(a *cli.App, programs []string) error {
	apps, err := appsOf(programs)
	if err != nil {
		return err
	}
	for _, p := range apps {
		if _, p.was, err = p.script.Read(); err != nil {
			return fmt.Errorf("disable: %w", err)
		}
	}
	session := on()
	settings, err := change(a, apps, switching{setting: session, off: true}, func(p *app) error {
		_, err := p.script.remove()
		return err
	})
	if err != nil {
		return fmt.Errorf("disable: %w", err)
	}
	report := reportOf(apps, func(p *app) bool { return p.was || p.listed })
	if session {
		report.Settings = settings
	}
	return a.Report(report, true, func() {
		for _, p := range apps {
			writeRemoved(a, string(p.script), p.was)
			if session {
				a.Printf("%s has no cache from its next start: apps-off in %s names it\n", p.name, settings)
			}
		}
	})
}

// switching says what becomes of the setting apps-off.
type switching struct {
	setting bool // it is changed
	off     bool // the applications are to have no cache
}

// change does something for the script of each application, then changes the setting, and returns the settings file. Where a part
// fails what was done before is undone.
func change(a *cli.App, apps []*app, s switching, each func(*app) error) (settings string, err error) {
	var undo []func() error
	defer func() {
		if err == nil {
			return
		}
		for _, restore := range slices.Backward(undo) {
			err = errors.Join(err, restore())
		}
	}()
	names := make([]string, len(apps))
	for i, p := range apps {
		names[i] = p.name
		restore, err := p.script.saved()
		if err != nil {
			return "", err
		}
		if err := each(p); err != nil {
			return "", fmt.Errorf("%s: %w", p.name, err)
		}
		undo = append(undo, restore)
	}
	if !s.setting {
		return "", nil
	}
	settings, done, err := configfile.SwitchApps(a, names, s.off)
	if err != nil {
		return "", err
	}
	for _, p := range apps {
		p.listed = slices.Contains(done, p.name)
	}
	return settings, nil
}

// reportOf returns what is written as JSON.
func reportOf(apps []*app, changed func(*app) bool) switchReport {
	var report switchReport
	if len(apps) == 1 {
		report.Path = string(apps[0].script)
	}
	for _, p := range apps {
		one := appReport{App: p.name, Path: string(p.script), Changed: changed(p)}
		report.Apps = append(report.Apps, one)
		report.Changed = report.Changed || one.Changed
	}
	return report
}

// sameFile reports whether two paths lead to one file: PATH may name its directory through a link.
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
