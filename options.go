package kernstash

import (
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/stats"
)

// Options configure a Cache. The zero value works: every field that is zero
// takes its default, then the settings file, and the environment has the last
// word (default < file < Options < KERNSTASH_*).
type Options struct {
	// Dir is the root on disk; default $XDG_CACHE_HOME/kernstash, else
	// ~/.cache/kernstash. It is made with mode 0700 when first needed.
	Dir string

	// Mode says what Dir and Layers are used for: "on" (the default),
	// "read-only", "refresh" (everything is built, and replaces what is stored)
	// or "observe" (everything is built, and compared with what is stored). The
	// memory tier works in each.
	Mode string

	// NoDisk and NoMemory switch a tier off. Without the disk tier the contexts of the
	// Cache share artifacts in memory, 64 MiB at most; without both nothing is kept.
	NoDisk, NoMemory bool

	// MaxSize limits the bytes on disk; default 5 GiB, negative: no limit. It and
	// Eviction are not for another directory than Dir that the environment says.
	MaxSize int64

	// Eviction is what goes first over the limit: "cost" (the default: least
	// build time saved per byte) or "lru".
	Eviction string

	// Layers are read-only roots that are asked after Dir, in order.
	Layers []string

	// MemoryBytes limits the bytes of programs that a context keeps, and
	// MemoryPrograms their number; default no limit, and 1024. Negative
	// MemoryPrograms: none is kept.
	MemoryBytes    int64
	MemoryPrograms int

	// MinBuildTime is what a build must take to be stored; default 0.
	MinBuildTime time.Duration

	// CloseTimeout is how long Close waits for captures and stores that are
	// under way; default 5 s.
	CloseTimeout time.Duration

	// Ahead says that programs are built before anybody needs them: finding one saves
	// nobody's time, and none is counted as saved.
	Ahead bool

	// Starter makes what sees to it that a worker captures what Close had no time for;
	// worker.ForCache is one. Without one the next worker does it that
	// somebody else starts: `kernstash run`, or `kernstash worker`.
	Starter func(Jobs) Starter

	// Recorder takes what is counted, besides Cache.Stats; may be nil.
	Recorder stats.Recorder

	// Logger takes traces where KERNSTASH_TRACE asks for any; default standard
	// error, or KERNSTASH_TRACE_FILE.
	Logger *slog.Logger

	// ConfigFile is read instead of the user's settings file.
	ConfigFile string

	// Lenient has Open not fail for settings that make no sense. Each is said once on
	// standard error. The cache is off if such a setting could have meant that, and
	// does not write if it could have meant that. It is for an application that did
	// not ask for the cache.
	Lenient bool

	// Flags are settings by their names ("max-size": "1GiB") that win over the
	// environment: what a command's flags say.
	Flags map[string]string
}

// texts returns what the program set, by the settings' names.
func (o Options) texts() map[string]string {
	m := make(map[string]string)
	set := func(name, value string, given bool) {
		if given {
			m[name] = value
		}
	}
	number := func(n int64) string { return strconv.FormatInt(max(n, 0), 10) }
	set("dir", o.Dir, o.Dir != "")
	set("mode", o.Mode, o.Mode != "")
	set("persistent", "0", o.NoDisk)
	set("in-mem", "0", o.NoMemory)
	set("max-size", number(o.MaxSize), o.MaxSize != 0)
	set("eviction", o.Eviction, o.Eviction != "")
	set("layers", strings.Join(o.Layers, string(filepath.ListSeparator)), len(o.Layers) > 0)
	set("in-mem-eviction-threshold", number(o.MemoryBytes), o.MemoryBytes != 0)
	set("in-mem-capacity", number(int64(o.MemoryPrograms)), o.MemoryPrograms != 0)
	set("min-build-time", o.MinBuildTime.String(), o.MinBuildTime != 0)
	set("close-timeout", o.CloseTimeout.String(), o.CloseTimeout != 0)
	return m
}

// cache returns them as internal/cache knows them.
func (o Options) cache() cache.Options {
	return cache.Options{
		Settings: settings.Inputs{ConfigFile: o.ConfigFile, Program: o.texts(), Flags: o.Flags, Lenient: o.Lenient},
		Ahead:    o.Ahead, Starter: o.Starter, Recorder: o.Recorder, Logger: o.Logger,
	}
}
