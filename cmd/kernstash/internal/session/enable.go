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
	"github.com/kernstash/kernstash/internal/human"
)

// SystemFile is where systemd reads variables of all users' sessions.
const SystemFile = "/etc/environment.d/50-kernstash.conf"

// Disable removes the file that Enable wrote. What applications are not to have, by DisableApps, stays so, and is told.
func Disable(a *cli.App, path string) error {
	removed, err := OwnFile(path).remove()
	if err != nil {
		return fmt.Errorf("disable: %w", asRoot(path, err))
	}
	report := switchReport{Path: path, Changed: removed, AppsOff: configfile.AppsOff(a)}
	return a.Report(report, true, func() {
		writeRemoved(a, path, removed)
		for _, name := range report.AppsOff {
			a.Fold(func() {
				a.Printf("%s has no cache under 'kernstash run' either: apps-off names it, until 'kernstash enable --app %[1]s'\n", human.Printable(name, false))
			})
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
	if err := OwnFile(path).write("", b.String(), 0o644); err != nil {
		return fmt.Errorf("enable: %w", asRoot(path, err))
	}
	return a.Report(switchReport{Path: path, Enabled: true, Changed: true}, true, func() {
		a.Printf("wrote %s: the cache is on, from the next login\n", path)
	})
}

// Escape writes a value as environment.d(5) reads it.
func Escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, "$", `\$`, `"`, `\"`, "'", `\'`, " ", `\ `).Replace(s)
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
	Path     string      `json:"path,omitempty"`     // the file that switches it on, if it is one
	Enabled  bool        `json:"enabled"`            // the cache is on
	Changed  bool        `json:"changed"`            // something was written, or removed
	Settings string      `json:"settings,omitempty"` // the settings file, where it decides of an application in a session with the cache
	Apps     []appReport `json:"apps,omitempty"`
	AppsOff  []string    `json:"apps_off,omitempty"` // of disable: those that have no cache all the same
}
