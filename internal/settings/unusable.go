package settings

import (
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/internal/human"
)

var errElevated = errors.New("the program has rights that its user has not: " +
	"neither the environment nor the user's settings file is looked at")

// Error is a setting that cannot be used: its name, the value it was given,
// by whom, and what would have been accepted; or a settings file that cannot be read at all.
type Error struct {
	Name   string // as its origin calls it
	Value  string
	Origin Origin
	Want   string // completes "want …"; "" for a name that does not exist
	Meant  string // the name that a name which does not exist is likely to mean; "" for none
	Effect string // what follows, as "the cache is off"; "": nothing does
	Err    error  // of a file, which the Origin names: nothing but the Effect is said besides
}

func (e *Error) Error() string {
	var text string
	switch {
	case e.Err != nil:
		text = fmt.Sprintf("settings file %s: %v", e.Origin.Path, e.Err)
	case e.Want == "":
		text = fmt.Sprintf("setting %s (%v): there is no such setting", e.Name, e.Origin)
	default:
		text = fmt.Sprintf("setting %s=%s (%v): want %s", e.Name, shown(e.Value), e.Origin, e.Want)
	}
	if e.Meant != "" {
		text += ", is it " + e.Meant + "?"
	}
	if e.Effect != "" {
		text += "; " + e.Effect
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// shown keeps a hostile or huge value from spoiling a message.
func shown(value string) string {
	const most = 80
	if len(value) > most {
		return fmt.Sprintf("%.*q… (%d bytes)", most, value, len(value))
	}
	return fmt.Sprintf("%q", value)
}

// Said is a variable with which a process says that what cannot be used of the settings
// was said: those that it starts need not say it again.
const Said = prefix + "SAID"

// Unsaid returns the warnings of what changes what the cache does, which have to be said
// where nobody asked for them, unless a process that started this one has said them.
func (s *Settings) Unsaid() []error {
	if s.said == s.SaidValue() {
		return nil
	}
	return s.loud()
}

// loud returns the warnings that Unsaid does, whoever has said them.
func (s *Settings) loud() (all []error) {
	for _, w := range s.Warnings {
		if bad, ok := w.(*Error); ok && bad.Effect != "" {
			all = append(all, w)
		}
	}
	return all
}

// SaidValue returns the value that Said has after the warnings were said; "" if there
// are none.
func (s *Settings) SaidValue() string {
	all := s.loud()
	if len(all) == 0 {
		return ""
	}
	// `kernstash run` starts faster without the packages that cryptography brings along.
	h := fnv.New64a()
	for _, w := range all {
		h.Write([]byte(w.Error()))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// bad is a value that cannot be used, and that no later source has replaced.
type bad struct {
	name string // of the setting that it is for, or is likely to be for; "" for none
	err  *Error
}

// refuse notes that a value of a setting cannot be used, and what is wanted.
func (l *loader) refuse(row *setting, text, want string, from Origin) {
	if row.Name == nameRemote {
		text = MaskRemote(text)
	}
	err := &Error{Name: row.calledBy(from), Value: text, Origin: from, Want: want}
	l.errs = append(l.errs, err)
	l.bad = append(l.bad, bad{row.Name, err})
}

// replaced forgets unusable values of a setting that a later source decides. One of
// KERNSTASH_DISABLE stays: it may have meant 1, which stands above all. So does a file that
// cannot be read.
func (l *loader) replaced(name string) {
	l.bad = slices.DeleteFunc(l.bad, func(b bad) bool {
		return b.name == name && (name != nameDisable || b.err.Origin.Source != Environment && b.err.Err == nil)
	})
}

// restrict gives a value that cannot be used, of the setting of a name, the most cautious
// meaning that it may have had: the cache is off where it could have meant that, and nothing
// is written where it could have meant that. It returns what follows.
func (s *Settings) restrict(name string, err *Error) (effect string) {
	v := &s.Values
	switch name {
	case "mode":
		if mayMeanReadOnly(err.Name) || mayMeanReadOnly(err.Value) {
			return s.writeNothing(err.Origin)
		}
		return s.off(err.Origin)
	case nameDisable, nameAppsOff, "compile-options", "link-options", "append-compile-options", "append-link-options":
		return s.off(err.Origin)
	case "max-size", "min-device-image-size", "max-device-image-size", "min-build-time":
		return s.writeNothing(err.Origin)
	case nameDir, "persistent":
		v.Persistent = false
		return "the disk tier is off"
	case "in-mem", "in-mem-eviction-threshold", "in-mem-capacity":
		v.InMemory = false
		return "the memory tier is off"
	case "agent", "agent-uid":
		v.Agent = AgentOff
		return "the agent of the node is not asked"
	case "worker":
		v.Worker = WorkerOff
		return "no worker is started"
	case "records":
		v.Records = false
		return "nothing is recorded"
	case "frameworks", "frameworks-max-size":
		v.Frameworks = FrameworksNone
		return "no framework's own cache is switched on"
	case nameRemote, "tenant", "remote-timeout", "remote-sign-key":
		v.Remote = nil
		return "no remote is used"
	case nameTrust:
		v.Trust = os.DevNull // no directory: the list cannot be read
		s.rows.byName(nameTrust).Origin = err.Origin
		return "no key is trusted"
	case "threshold":
		v.Threshold = 0
		return "no entry is removed for its age"
	}
	return "it is ignored"
}

func (s *Settings) off(from Origin) (effect string) {
	s.Disable = true
	s.rows.byName(nameDisable).Origin = from
	return "the cache is off"
}

func (s *Settings) writeNothing(from Origin) (effect string) {
	if s.Mode == ModeRefresh || s.Mode == ModeObserve { // without writing there is nothing left of them
		return s.off(from)
	}
	s.Mode = ModeReadOnly
	s.rows.byName("mode").Origin = from
	return "the cache is read, and not written"
}

// mayMeanReadOnly reports whether a name or a mode is likely to be about reading alone.
func mayMeanReadOnly(text string) bool {
	text = plain(text)
	return text == "ro" || strings.HasPrefix(text, "read")
}

// plain returns a name in small letters, without prefix and punctuation.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '-', '_', ' ', '.':
			return -1
		}
		return r
	}, strings.ToLower(strings.TrimPrefix(name, prefix)))
}

// synonym returns the setting that people mean by a name which is not near its own, ""
// for none.
func synonym(name string) string {
	switch name {
	case "off", "enable", "enabled", "on", "cache", "nocache":
		return nameDisable
	case "readonly", "ro", "refresh", "observe":
		return "mode"
	case "cachedir", "directory", "root":
		return nameDir
	}
	return ""
}

// likely returns the setting that a name which does not exist is likely to mean, nil
// for none.
func (t rows) likely(name string) *setting {
	name = plain(name)
	if row := t.byName(synonym(name)); row != nil {
		return row
	}
	var best *setting
	least := 3
	for i := range t {
		of := plain(t[i].Name)
		most := min(least-1, len(of)/3)
		if max(len(name)-len(of), len(of)-len(name)) > most {
			continue // they are at least as far apart as their lengths
		}
		if d := human.Distance(name, of); d <= most {
			best, least = &t[i], d
		}
	}
	return best
}
