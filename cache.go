package kernstash

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/stats"
)

// Cache holds what all contexts of a process share: the stores, the settings,
// the statistics. It is safe for concurrent use.
type Cache cache.Cache

// Open returns a Cache. It touches neither disk nor driver: each tier is
// opened when it is first needed, and one that cannot be opened is off, with a
// reason that `kernstash doctor` and the trace show. The only error is a
// setting that makes no sense; it names the variable and the value. A name in the
// environment that is likely to be a setting's, misspelt, is said once on standard
// error, and has the meaning that Options.Lenient describes.
func Open(o Options) (*Cache, error) {
	c, err := cache.Open(o.cache())
	return (*Cache)(c), err
}

func (c *Cache) cache() *cache.Cache { return (*cache.Cache)(c) }

// Stats returns what this Cache counted since it was opened.
func (c *Cache) Stats() stats.Snapshot { return c.cache().Stats() }

// Flush waits until everything that was built or launched so far has been
// stored, at most for timeout. False: something was still under way. Captures
// wait for a pause in the launches, so Flush may too.
func (c *Cache) Flush(timeout time.Duration) bool { return c.cache().Flush(timeout) }

// DroppedError says what Close left undone because its time was over. The
// programs will be built again by the next process; nothing else is lost.
type DroppedError struct {
	Timeout  time.Duration
	Captures []string // programs whose code was not captured
	Stores   int      // artifacts that were not written
}

func (e *DroppedError) Error() string {
	return fmt.Sprintf("close cache: not stored within %v: %d captures %q, %d artifacts",
		e.Timeout, len(e.Captures), e.Captures, e.Stores)
}

// Close closes all contexts of the Cache: it waits for builds in flight, then
// for captures and stores under way, at most for the setting close-timeout
// (5 s), and writes the statistics. It returns a *DroppedError if something was
// left undone. Closing again waits for the first Close, and returns nil.
func (c *Cache) Close() error {
	captures, artifacts := c.cache().Close()
	if len(captures) == 0 && artifacts == 0 {
		return nil
	}
	return &DroppedError{Timeout: c.cache().Settings().CloseTimeout, Captures: captures, Stores: artifacts}
}

// Jobs are what a Cache leaves to be done by a worker, in a process of its own.
type Jobs = cache.Jobs

// Starter sees that somebody does the jobs that a Cache leaves. Package worker has one.
type Starter = cache.Starter

// Mode says what the disk tier, and its read-only layers, are used for.
type Mode string

// The modes.
const (
	ModeOn       Mode = settings.ModeOn       // entries are served and stored
	ModeReadOnly Mode = settings.ModeReadOnly // entries are served, and nothing is stored
	ModeRefresh  Mode = settings.ModeRefresh  // everything is built, and replaces what is stored
	ModeObserve  Mode = settings.ModeObserve  // everything is built, and compared with what is stored
)

// Eviction says which entries go first when the disk tier is over its limit.
type Eviction string

// The ways to evict.
const (
	EvictCost Eviction = settings.EvictCost // those that save least build time per byte
	EvictLRU  Eviction = settings.EvictLRU  // those that were not used for longest
)

// Options configure a Cache. The zero value works: every field that is zero
// takes its default, then the settings file, and the environment has the last
// word (default < file < Options < KERNSTASH_*).
type Options struct {
	// Dir is the root on disk; default $XDG_CACHE_HOME/kernstash, else
	// ~/.cache/kernstash. It is made with mode 0700 when first needed.
	Dir string

	// Mode says what Dir and Layers are used for; default ModeOn. The memory tier
	// works in each.
	Mode Mode

	// NoDisk and NoMemory switch a tier off. Without the disk tier the contexts of the
	// Cache share artifacts in memory, 64 MiB at most; without both nothing is kept.
	NoDisk, NoMemory bool

	// MaxSize limits the bytes on disk; default 5 GiB, negative: no limit. It and
	// Eviction are not for another directory than Dir that the environment says.
	MaxSize int64

	// Eviction says what goes first over the limit; default EvictCost.
	Eviction Eviction

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
	// nobody's time, and is no use of it: it is not in the totals on disk, nor recorded, and changes no order of eviction.
	Ahead bool

	// App is the name that records have for the application; default that of its file,
	// or, of an interpreter, that of the script or module that it runs.
	App string

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

// cache returns them as internal/cache knows them.
func (o Options) cache() cache.Options {
	texts := make(map[string]string) // of what the program set, by the settings' names
	set := func(name, value string, given bool) {
		if given {
			texts[name] = value
		}
	}
	number := func(n int64) string { return strconv.FormatInt(max(n, 0), 10) }
	set("dir", o.Dir, o.Dir != "")
	set("mode", string(o.Mode), o.Mode != "")
	set("persistent", "0", o.NoDisk)
	set("in-mem", "0", o.NoMemory)
	set("max-size", number(o.MaxSize), o.MaxSize != 0)
	set("eviction", string(o.Eviction), o.Eviction != "")
	set("layers", strings.Join(o.Layers, string(filepath.ListSeparator)), len(o.Layers) > 0)
	set("in-mem-eviction-threshold", number(o.MemoryBytes), o.MemoryBytes != 0)
	set("in-mem-capacity", number(int64(o.MemoryPrograms)), o.MemoryPrograms != 0)
	set("min-build-time", o.MinBuildTime.String(), o.MinBuildTime != 0)
	set("close-timeout", o.CloseTimeout.String(), o.CloseTimeout != 0)
	return cache.Options{
		Settings: settings.Inputs{ConfigFile: o.ConfigFile, Program: texts, Flags: o.Flags, Lenient: o.Lenient},
		Ahead:    o.Ahead, App: o.App, Starter: o.Starter, Recorder: o.Recorder, Logger: o.Logger,
	}
}
