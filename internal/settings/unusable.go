package settings

import (
	"slices"
	"strings"

	"github.com/kernstash/kernstash/internal/human"
)

// bad is a value that cannot be used, and that no later source has replaced.
type bad struct {
	name string // of the setting that it is for, or is likely to be for; "" for none
	err  *Error
}

// refuse notes that a value of a setting cannot be used, and what is wanted.
func (l *loader) refuse(row *setting, text, want string, from Origin) {
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
	case nameDisable, "compile-options", "link-options", "append-compile-options", "append-link-options":
		return s.off(err.Origin)
	case "max-size", "min-device-image-size", "max-device-image-size", "min-build-time":
		return s.writeNothing(err.Origin)
	case nameDir, "persistent":
		v.Persistent = false
		return "the disk tier is off"
	case "in-mem", "in-mem-eviction-threshold", "in-mem-capacity":
		v.InMemory = false
		return "the memory tier is off"
	case "worker":
		v.Worker = WorkerOff
		return "no worker is started"
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
