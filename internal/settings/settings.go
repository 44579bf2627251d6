// Package settings reads what an operator and a program have decided about the
// cache, and remembers who decided what.
//
// Each setting has one name in the environment (KERNSTASH_MAX_SIZE) and one
// everywhere else (max-size). Its value comes from the last of these that has
// one: the default, the file, the program, the environment, a flag. Only
// KERNSTASH_DISABLE=1 in the environment stands above all.
package settings

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/kernstash/kernstash/internal/elevated"
)

// Inputs are where settings come from.
type Inputs struct {
	// Environ is a list of NAME=value; nil means this process's, of which a
	// program with rights beyond its user's is told nothing but DISABLE: else
	// the user could have it write where only the program may.
	Environ []string

	// ConfigFile is the file to read, which must exist. Where it is empty the file is
	// $XDG_CONFIG_HOME/kernstash/config.json, or ~/.config/…, if there is one.
	ConfigFile string

	// Program and Flags hold texts by the setting's name (max-size).
	Program, Flags map[string]string

	// Lenient makes a warning of each error. What cannot be used has the most
	// cautious meaning that it may have had: see Error.Effect. It is for an
	// application that did not ask for us.
	Lenient bool
}

// Settings are the values in force with their origins.
type Settings struct {
	Values
	File string // the settings file that was read, "" if there was none

	// Warnings tell what was passed over: in lenient mode every error, and
	// always variables that look like a setting and are none.
	Warnings []error

	runtimeDir string // $XDG_RUNTIME_DIR, if it is a path

	rows rows   // of Values
	said string // the value of Said
}

// Item is a setting for people.
type Item struct {
	Name        string `json:"name"`        // in the file and as a flag
	Variable    string `json:"variable"`    // in the environment
	Value       string `json:"value"`       // in force
	Default     string `json:"default"`     // if nobody decides
	Origin      Origin `json:"origin"`      // who decided
	Accepts     string `json:"accepts"`     // what may be written
	Description string `json:"description"` // what it means
}

// Load reads the settings. Every malformed value is reported, not only the first; each is
// an *Error. Where an error is returned the Settings hold what could be used.
func Load(in Inputs) (*Settings, error) {
	s := &Settings{}
	s.rows = s.table()
	l := loader{s: s, env: in.Environ}
	if in.Environ == nil {
		l.env = os.Environ()
		if elevated.Now() {
			l.env = l.env.withRights()
			s.Warnings = append(s.Warnings, errElevated)
		}
	}
	s.said = l.env.get(Said)
	for _, row := range s.rows {
		if row.Default != "" {
			_ = row.set(row.Default) // tested: every default parses
		}
	}
	if dir := l.env.get("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		s.runtimeDir = dir
	}
	s.Dir = l.env.place(runtime.GOOS, "XDG_CACHE_HOME", ".cache")
	if config := l.env.place(runtime.GOOS, "XDG_CONFIG_HOME", ".config"); config != "" {
		s.Trust = filepath.Join(config, "trust")
	}

	l.file(in.ConfigFile)
	l.texts(Origin{Source: Program}, in.Program)
	l.environment()
	l.texts(Origin{Source: Flag}, in.Flags)
	text := l.env.get(disableVariable)
	if off, err := parseBool(text); err == nil && off {
		l.apply(s.rows.byName(nameDisable), text, Origin{Source: Environment})
	}
	l.window()
	if s.Mode == ModeOff {
		s.off(s.Origin("mode"))
	}
	if in.Lenient {
		s.Warnings, l.errs = append(l.errs, s.Warnings...), nil
	}
	for _, b := range l.bad {
		effect := s.restrict(b.name, b.err)
		if slices.Contains(s.Warnings, error(b.err)) { // else it is the caller's to decide
			b.err.Effect = effect
		}
	}
	return s, errors.Join(l.errs...)
}

// SwitchOff switches the cache off where the setting apps-off names this program, which app returns.
func (s *Settings) SwitchOff(app func() string) {
	if len(s.AppsOff) > 0 && slices.Contains(s.AppsOff, app()) {
		s.off(s.Origin(nameAppsOff))
	}
}

// Origin returns who decided the setting of a name.
func (s *Settings) Origin(name string) Origin { return s.rows.byName(name).Origin }

// Variables returns the settings of some names as variables: "KERNSTASH_MAX_SIZE=5GiB". Secrets
// of the setting remote are there.
func (s *Settings) Variables(names ...string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		row := s.rows.byName(name)
		all[i] = row.Variable + "=" + row.get()
	}
	return all
}

// Workers returns the names of the settings that a worker shares with who starts it.
func (s *Settings) Workers() []string {
	names := []string{"max-size", "threshold", "eviction", "records", "frameworks-max-size", "agent", "agent-uid"}
	if len(s.Remote) > 0 {
		names = append(names, nameRemote, "tenant", "remote-timeout", "remote-sign-key")
	}
	return names
}

// The agent's socket: of the system's, and below $XDG_RUNTIME_DIR of a user's.
const (
	SystemAgent = "/run/kernstash/agent.sock"
	userAgent   = "kernstash/agent.sock"
)

// AgentSockets returns where the agent's socket may be, the first that is there being it.
func (s *Settings) AgentSockets() []string {
	switch {
	case s.Disable || s.Agent == AgentOff || runtime.GOOS != "linux":
		return nil
	case s.Agent != AgentAuto:
		return []string{s.Agent}
	case s.runtimeDir == "":
		return []string{SystemAgent}
	}
	return []string{SystemAgent, filepath.Join(s.runtimeDir, userAgent)}
}

// UserAgent returns where the socket of a user's own agent is; "": nobody says where.
func (s *Settings) UserAgent() string {
	if s.runtimeDir == "" {
		return ""
	}
	return filepath.Join(s.runtimeDir, userAgent)
}

// Writable reports whether the cache on disk may be written.
func (s *Settings) Writable() bool { return !s.Disable && s.Persistent && s.Mode != ModeReadOnly }

// All returns every setting, in a fixed order, and no secret of theirs.
func (s *Settings) All() []Item {
	items := make([]Item, len(s.rows))
	for i, row := range s.rows {
		items[i] = row.Item
		items[i].Value = row.get()
		if row.Name == nameRemote {
			items[i].Value = MaskRemote(items[i].Value)
		}
		switch row.Name { // what it is where nobody has decided
		case nameDir:
			items[i].Default = onSystem("$XDG_CACHE_HOME/kernstash, else ~/.cache/kernstash", `%LocalAppData%\kernstash`)
		case nameTrust:
			items[i].Default = onSystem("$XDG_CONFIG_HOME/kernstash/trust, else ~/.config/kernstash/trust", `%LocalAppData%\kernstash\trust`)
		}
	}
	return items
}

func onSystem(others, windows string) string {
	if runtime.GOOS == "windows" {
		return windows
	}
	return others
}

// TrustNamed reports whether somebody has named the directory of trusted keys: then it has to be there.
func (s *Settings) TrustNamed() bool { return s.Origin(nameTrust).Source != Default }

// loader applies one source after the other.
type loader struct {
	s    *Settings
	env  environment
	errs []error
	bad  []bad
}

func (l *loader) apply(row *setting, text string, from Origin) {
	if text == "" && !row.empty {
		return // set but empty: not set, as for every XDG variable
	}
	if row.set(text) != nil {
		l.refuse(row, text, row.Accepts, from)
		return
	}
	row.Origin = from
	l.replaced(row.Name)
}

// texts applies a source that uses the settings' own names.
func (l *loader) texts(from Origin, texts map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if row := l.s.rows.byName(name); row != nil {
			l.apply(row, texts[name], from)
		} else {
			l.errs = append(l.errs, l.unknown(name, texts[name], from))
		}
	}
}

func (l *loader) environment() {
	from := Origin{Source: Environment}
	for i := range l.s.rows {
		row := &l.s.rows[i]
		if text, ok := l.env.lookup(row.Variable); ok {
			l.apply(row, text, from)
		}
	}
	for _, kv := range l.env {
		name, text, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, prefix) && !l.s.rows.known(name) {
			l.s.Warnings = append(l.s.Warnings, l.unknown(name, text, from))
		}
	}
}

// unknown returns the error for a name that does not exist. If it is likely to mean
// a setting, then that has a value that cannot be used.
func (l *loader) unknown(name, text string, from Origin) *Error {
	err := &Error{Name: name, Value: text, Origin: from}
	row := l.s.rows.likely(name)
	switch {
	case row == nil && from.Source != Environment:
		l.bad = append(l.bad, bad{"", err})
	case row != nil && text != "":
		err.Meant = row.calledBy(from)
		if row.Name == nameRemote {
			err.Value = MaskRemote(text)
		}
		l.bad = append(l.bad, bad{row.Name, err})
	}
	return err
}

func (l *loader) file(path string) {
	optional, open := path == "", os.Open
	if optional {
		path, open = l.env.place(runtime.GOOS, "XDG_CONFIG_HOME", ".config"), openOwn
		if path == "" {
			return
		}
		path = filepath.Join(path, "config.json")
	}
	f, err := open(path)
	if err == nil {
		optional = false // it is there
		var texts map[string]string
		if texts, err = readFile(f, l.env); err == nil {
			l.s.File = path
			l.texts(Origin{File, path}, texts)
			return
		}
	}
	if optional && errors.Is(err, fs.ErrNotExist) {
		return
	}
	unusable := &Error{Origin: Origin{File, path}, Err: err}
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		unusable.Err = pathErr.Err
	}
	if optional {
		l.s.Warnings = append(l.s.Warnings, unusable)
		// A home that cannot be entered must stop no application. Where there is a
		// file, it may switch the cache off.
		_, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR) {
			return
		}
	} else {
		l.errs = append(l.errs, unusable)
	}
	l.bad = append(l.bad, bad{nameDisable, unusable})
}

// window refuses a pair of limits between which nothing fits.
func (l *loader) window() {
	v := &l.s.Values
	if v.MaxDeviceImageSize == 0 || v.MinDeviceImageSize <= v.MaxDeviceImageSize {
		return
	}
	row := l.s.rows.byName("min-device-image-size")
	l.refuse(row, row.get(), "at most max-device-image-size, which is "+FormatSize(v.MaxDeviceImageSize), row.Origin)
	_ = row.set(row.Default)
	row.Origin = Origin{}
}

// Source is who may decide a setting, the last word having the largest number.
type Source uint8

// The sources.
const (
	Default Source = iota
	File
	Program
	Environment
	Flag
)

func (s Source) String() string {
	return [...]string{"default", "file", "program", "environment", "flag"}[s]
}

// Origin says where a value came from.
type Origin struct {
	Source Source
	Path   string // of the file
}

func (o Origin) String() string {
	if o.Source == File {
		return "file " + o.Path
	}
	return o.Source.String()
}

// MarshalText writes what String returns.
func (o Origin) MarshalText() ([]byte, error) { return []byte(o.String()), nil }
