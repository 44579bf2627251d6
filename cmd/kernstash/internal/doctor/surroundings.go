package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/launch"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/session"
	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/internal/settings"
)

// checkEntry says how the cache comes into programs that know nothing of it: by the
// libraries of 'kernstash run', and by what the session and this environment have.
func (r *Report) checkEntry() {
	if !launch.Supported {
		return
	}
	const subject = "unchanged applications"
	if l, err := launch.Find(); err != nil {
		r.Add(subject, tool.Warn, "install them ('make install'), or name their directory in KERNSTASH_LIBDIR",
			"'kernstash run' runs commands without the cache: %v", err)
	} else {
		r.Add(subject, tool.OK, "", "the libraries of 'kernstash run' are in %s", filepath.Dir(l.Layer))
	}
	if path, err := session.File(); err == nil {
		r.checkSession(path)
	}
	if _, err := os.Lstat(session.SystemFile); err == nil {
		r.checkSession(session.SystemFile)
	}
	for _, list := range []struct{ name, separators string }{{runtimes.Layers().Variable, ":"}, {"LD_PRELOAD", ": "}} {
		for _, library := range launch.OwnLibraries(os.Getenv(list.name), list.separators) {
			r.checkOwnLibrary(subject, "in this environment", list.name, library, "set "+list.name+" anew, or unset it")
		}
	}
}

// checkSession looks at what 'kernstash enable' wrote.
func (r *Report) checkSession(path string) {
	const subject = "unchanged applications"
	switch _, found, err := session.OwnFile(path).Read(); {
	case errors.Is(err, session.ErrForeign):
		r.Add(subject, tool.Warn, "move it away, or see to the variables yourself ('kernstash env')", "%v", err)
		return
	case err != nil:
		r.Add(subject, tool.Warn, "", "%s cannot be read: %v", path, err)
		return
	case !found:
		r.Add(subject, tool.Info, "", "they have the cache under 'kernstash run'; 'kernstash enable' switches it on for a session")
		return
	}
	values, err := session.ReadVariables(path)
	libraries := launch.OwnLibraries(values[runtimes.Layers().Variable], ":")
	switch {
	case err != nil:
		r.Add(subject, tool.Warn, "", "%s cannot be read: %v", path, err)
	case settings.SwitchedOff(values["KERNSTASH_DISABLE"]):
		r.Add(subject, tool.Info, "'kernstash disable' removes it, 'kernstash enable' switches the cache on", "%s switches the cache off for the session", path)
	case len(libraries) == 0:
		r.Add(subject, tool.Warn, "run 'kernstash enable' again", "%s names no library of ours", path)
	}
	for _, library := range libraries {
		if !r.checkOwnLibrary(subject, "for the session", path, library, "run 'kernstash enable' again, or 'kernstash disable'") {
			continue
		}
		if !slices.Contains(launch.OwnLibraries(os.Getenv(runtimes.Layers().Variable), ":"), library) {
			r.Add(subject, tool.Info, "that is so from the next login, where systemd starts the session, and not over ssh",
				"this environment has not what %s says", path)
		}
	}
}

func (r *Report) checkOwnLibrary(subject, where, by, library, advice string) bool {
	if info, err := os.Stat(library); err != nil || !info.Mode().IsRegular() {
		r.Add(subject, tool.Warn, advice, "%s names %s, which is not there: programs run without the cache", by, library)
		return false
	}
	r.Add(subject, tool.OK, "", "the cache is on %s (%s)", where, by)
	return true
}
