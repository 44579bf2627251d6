// Package configfile reads and changes single settings: `kernstash config get`, `set` and `unset`.
package configfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/settings"
)

// Get writes the values in force of settings, each on a line.
func Get(a *cli.App, names []string) error {
	s, err := a.Settings()
	if err != nil {
		return err
	}
	found := make([]settings.Item, 0, len(names))
	for _, name := range names {
		item, err := find(s, name)
		if err != nil {
			return err
		}
		found = append(found, item)
	}
	return a.Report(found, true, func() {
		for _, item := range found {
			a.Printf("%s\n", human.Printable(item.Value, false))
		}
	})
}

// Has reports whether there is a setting of a name.
func Has(name string) bool {
	s, _ := settings.Load(settings.Inputs{Environ: home(), Lenient: true})
	if s == nil {
		return false
	}
	_, err := find(s, name)
	return err == nil
}

// find returns the setting of a name, be it that of its variable.
func find(s *settings.Settings, name string) (settings.Item, error) {
	all := s.All()
	i := slices.IndexFunc(all, func(item settings.Item) bool { return item.Name == name || item.Variable == name })
	if i >= 0 {
		return all[i], nil
	}
	best, least := "", 3
	for _, item := range all {
		if d := human.Distance(strings.ToLower(strings.ReplaceAll(name, "_", "-")), item.Name); d < least {
			best, least = item.Name, d
		}
	}
	meant := "; 'kernstash config' lists all"
	if best != "" {
		meant = fmt.Sprintf("; is it %s?", best)
	}
	return settings.Item{}, cli.Usagef("there is no setting %q%s", name, meant)
}

// changed is what `config set --json` and `config unset --json` write.
type changed struct {
	File     string  `json:"file"`
	Setting  string  `json:"setting"`
	Value    *string `json:"value"`              // null: it is not there
	Was      bool    `json:"was"`                // it was there before
	Replaced string  `json:"replaced,omitempty"` // by whom the value in the file is replaced
	InForce  string  `json:"in_force,omitempty"` // what holds then
}

// Set gives a setting a value in the settings file.
func Set(a *cli.App, name, value string) error {
	s, err := settings.Load(settings.Inputs{ConfigFile: a.Config, Lenient: true}) // what is wrong may be what is to be set
	if err != nil {
		return err
	}
	item, err := find(s, name)
	if err != nil {
		return err
	}
	if !utf8.ValidString(value) {
		return cli.Usagef("config set %s: the value is not UTF-8", item.Name)
	}
	check := func(path string) error { return accepted(path, item, value) }
	file, was, err := change(a, item.Name, func(string) *string { return &value }, check)
	if err != nil {
		return err
	}
	return tell(a, changed{File: file, Setting: item.Name, Value: &value, Was: was})
}

// AppsOff returns the applications that the settings file gives no cache.
func AppsOff(a *cli.App) []string {
	return appsOff(cmp.Or(a.Config, settings.UserFile()))
}

func appsOff(path string) []string {
	s, _ := settings.Load(settings.Inputs{Environ: home(), ConfigFile: path, Lenient: true})
	return s.AppsOff
}

// SwitchApps adds applications to those that have no cache, or takes them out of them. It returns the settings file, and
// those that it has added or taken out.
func SwitchApps(a *cli.App, apps []string, off bool) (file string, done []string, err error) {
	differ := func(now []string) []string {
		return slices.DeleteFunc(slices.Clone(apps), func(app string) bool { return slices.Contains(now, app) == off })
	}
	if done = differ(AppsOff(a)); len(done) == 0 {
		return cmp.Or(a.Config, settings.UserFile()), nil, nil
	}
	file, _, err = change(a, "apps-off", func(path string) *string {
		now := appsOff(path)
		done = differ(now)
		if off {
			now = append(now, done...)
		} else {
			now = slices.DeleteFunc(now, func(app string) bool { return slices.Contains(done, app) })
		}
		if len(now) == 0 {
			return nil
		}
		text := strings.Join(now, ",")
		return &text
	}, nil)
	return file, done, err
}

// Unset takes a setting out of the settings file. A name that is no setting goes if it is there.
func Unset(a *cli.App, name string) error {
	s, _ := settings.Load(settings.Inputs{Lenient: true})
	item, unknown := find(s, name)
	name = cmp.Or(item.Name, name)
	file, was, err := change(a, name, func(string) *string { return nil }, nil)
	switch {
	case err != nil:
		return err
	case !was && unknown != nil:
		return unknown
	}
	return tell(a, changed{File: file, Setting: name, Was: was})
}

// accepted reads a settings file that has been written and is not in its place yet: an error
// says why it does not accept the value.
func accepted(path string, item settings.Item, value string) error {
	s, err := settings.Load(settings.Inputs{Environ: home(), ConfigFile: path})
	var all []error
	if several, is := err.(interface{ Unwrap() []error }); is {
		all = several.Unwrap()
	}
	for _, err := range all {
		if bad, is := errors.AsType[*settings.Error](err); is && bad.Name == item.Name {
			return cli.Usagef("config set %s: %q makes no sense: want %s", item.Name, human.Printable(value, false), bad.Want)
		}
	}
	if s.Origin(item.Name).Source != settings.File {
		return cli.Usagef("config set %s: the value is empty: 'kernstash config unset %[1]s' has the default hold", item.Name)
	}
	return nil
}

// home returns the environment that a settings file is read with, without settings.
func home() []string { return []string{"HOME=" + os.Getenv("HOME")} }

// change edits the settings file, as a whole or not at all, while nobody else does. value returns, by the file's path, the value that
// the setting gets, or nil: none. check is called with the path of the new file before that takes the place of the old one.
func change(a *cli.App, name string, value func(path string) *string, check func(path string) error) (file string, was bool, err error) {
	if file = cmp.Or(a.Config, settings.UserFile()); file == "" {
		return "", false, errors.New("there is no settings file: set HOME or XDG_CONFIG_HOME, or give --config")
	}
	fail := func(err error) error {
		if path, is := errors.AsType[*fs.PathError](err); is {
			err = path.Err
		}
		return fmt.Errorf("settings file %s: %w", file, err)
	}
	target := file
	if real, err := filepath.EvalSymlinks(file); err == nil {
		target = real // a link stays one
	}
	if _, err := os.Lstat(target); errors.Is(err, fs.ErrNotExist) && value(target) == nil {
		return file, false, nil // and no directory is made
	}
	unlock, err := exclude(target)
	if err != nil {
		return "", false, fail(err)
	}
	defer unlock()
	text, mode, err := read(target)
	if err != nil {
		return "", false, fail(err)
	}
	v := value(target)
	edited, was, err := settings.Edit(text, name, v)
	if err != nil {
		return "", false, fail(err)
	}
	if v == nil && !was {
		return file, false, nil
	}
	if err := replace(target, edited, mode, check); err != nil {
		if cli.IsUsage(err) {
			return "", false, err
		}
		return "", false, fail(err)
	}
	return file, was, nil
}

// read returns the text of a settings file, and its mode; nothing of one that is not there.
func read(path string) ([]byte, os.FileMode, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0o600, nil
	case err != nil:
		return nil, 0, err
	case !info.Mode().IsRegular():
		return nil, 0, errors.New("not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	const more = 2 << 20 // than Edit accepts
	b, err := io.ReadAll(io.LimitReader(f, more))
	return b, info.Mode().Perm(), err
}

// replace writes a file beside another one, and renames it to that if check has nothing against it.
func replace(path string, b []byte, mode os.FileMode, check func(path string) error) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".config-*.json")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // gone, if all went well
	_, err = tmp.Write(b)
	if err := errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if check != nil {
		if err := check(tmp.Name()); err != nil {
			return err
		}
	}
	return os.Rename(tmp.Name(), path)
}

// tell says what was changed, and whether somebody else decides all the same.
func tell(a *cli.App, c changed) error {
	s, _ := settings.Load(settings.Inputs{ConfigFile: a.Config, Lenient: true})
	if item, err := find(s, c.Setting); err == nil && item.Origin.Source > settings.File {
		c.Replaced, c.InForce = item.Origin.String(), item.Value
		if item.Origin.Source == settings.Environment {
			c.Replaced += " (" + item.Variable + ")"
		}
		if c.Value != nil {
			fmt.Fprintf(a.Err, "kernstash: warning: %s is decided by the %s: %s\n", c.Setting, c.Replaced, human.Printable(item.Value, false))
		}
	}
	return a.Report(c, true, func() {
		file := human.Printable(c.File, false)
		switch {
		case c.Value != nil:
			a.Printf("%s is %q in %s\n", c.Setting, human.Printable(*c.Value, false), file)
		case c.Was:
			a.Printf("%s is not in %s any more\n", human.Printable(c.Setting, false), file)
		default:
			a.Printf("%s was not in %s\n", c.Setting, file)
		}
	})
}
