package settings

import (
	"slices"
	"strings"
	"time"
)

// setting is a row of the table: one setting, whatever its type.
type setting struct {
	env     string // name in the environment
	name    string // name in the file, in a program and as a flag
	deflt   string // default, as text
	about   string // one line
	accepts string
	empty   bool
	set     func(v *Values, text string) error
	get     func(v *Values) string
}

const prefix = "KERNSTASH_"

func row[T any](name, deflt, about string, k kind[T], field func(*Values) *T) setting {
	return setting{
		env:  prefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_")),
		name: name, deflt: deflt, about: about, accepts: k.accepts, empty: k.empty,
		set: func(v *Values, text string) error {
			x, err := k.parse(text)
			if err == nil {
				*field(v) = x
			}
			return err
		},
		get: func(v *Values) string { return k.format(*field(v)) },
	}
}

// Names of the settings that this package treats apart.
const (
	nameDisable = "disable"
	nameDir     = "dir"
)

// others are variables of ours that are no settings: they join a program and
// `kernstash run`, or say where our libraries are. So does one for each runtime that has
// layers, by its end.
var others = []string{prefix + "REPORT", prefix + "LIBDIR", prefix + "COMMAND", prefix + "LIBRARY", Said}

const doorEnd = "_DOOR"

// table holds every setting, in the order in which they are shown.
var table = []setting{
	row(nameDisable, "0", "1 switches the cache off, whatever else is set", boolKind,
		func(v *Values) *bool { return &v.Disable }),
	row(nameDir, "", "root of the cache on disk", pathKind,
		func(v *Values) *string { return &v.Dir }),
	row("mode", ModeOn, "what the disk tier is for: on, read-only, refresh (builds and replaces all), observe (builds all and compares), off",
		modeKind, func(v *Values) *string { return &v.Mode }),
	row("persistent", "1", "the disk tier is on; without it a program that uses the Go library keeps 64 MiB of artifacts for itself", boolKind,
		func(v *Values) *bool { return &v.Persistent }),
	row("in-mem", "1", "the memory tier is on", boolKind,
		func(v *Values) *bool { return &v.InMemory }),
	row("max-size", "5GiB", "limit of the cache on disk, 0 = none", sizeKind,
		func(v *Values) *int64 { return &v.MaxSize }),
	row("threshold", "30", "days without access after which an entry goes, 0 = never", daysKind,
		func(v *Values) *time.Duration { return &v.Threshold }),
	row("eviction", EvictCost, "what goes first over the limit: cost (least build time saved per byte) or lru",
		evictionKind, func(v *Values) *string { return &v.Eviction }),
	row("layers", "", "read-only roots that are asked after the writable one, in order", pathsKind,
		func(v *Values) *[]string { return &v.Layers }),
	row("min-device-image-size", "0", "smaller device images are not stored", sizeKind,
		func(v *Values) *int64 { return &v.MinDeviceImageSize }),
	row("max-device-image-size", "1GiB", "larger device images are not stored, 0 = no limit", sizeKind,
		func(v *Values) *int64 { return &v.MaxDeviceImageSize }),
	row("min-build-time", "0", "builds that take less are not stored", timeKind,
		func(v *Values) *time.Duration { return &v.MinBuildTime }),
	row("in-mem-eviction-threshold", "0", "bytes of programs kept in memory, 0 = no limit", sizeKind,
		func(v *Values) *int64 { return &v.InMemEvictionThreshold }),
	row("in-mem-capacity", "1024", "programs kept in memory, 0 = none", countKind,
		func(v *Values) *int { return &v.InMemCapacity }),
	row("compile-options", "", "replaces the compile options of every build", overrideKind,
		func(v *Values) **string { return &v.CompileOptions }),
	row("link-options", "", "replaces the link options of every build", overrideKind,
		func(v *Values) **string { return &v.LinkOptions }),
	row("append-compile-options", "", "added to the compile options of every build", textKind,
		func(v *Values) *string { return &v.AppendCompileOptions }),
	row("append-link-options", "", "added to the link options of every build", textKind,
		func(v *Values) *string { return &v.AppendLinkOptions }),
	row("close-timeout", "5s", "how long Close waits for captures and stores", timeKind,
		func(v *Values) *time.Duration { return &v.CloseTimeout }),
	row("capture-quiet", "50ms", "how long launches must pause before code is captured", timeKind,
		func(v *Values) *time.Duration { return &v.CaptureQuiet }),
	row("worker", WorkerAuto, "who builds what an application launched and could not capture: auto (a process that is started), inline (this process), off (only 'kernstash worker run')",
		workerKind, func(v *Values) *string { return &v.Worker }),
	row("trace", "0", "what is traced: disk, memory, keys, all", traceKind,
		func(v *Values) *TraceMask { return &v.Trace }),
	row("trace-file", "", "where traces go, else to standard error", pathKind,
		func(v *Values) *string { return &v.TraceFile }),
}

// byName returns the row of a name, nil if there is none.
func byName(name string) *setting {
	for i := range table {
		if table[i].name == name {
			return &table[i]
		}
	}
	return nil
}

// known reports whether a variable is a setting, or another one of ours.
func known(variable string) bool {
	return slices.Contains(others, variable) || strings.HasSuffix(variable, doorEnd) ||
		slices.ContainsFunc(table, func(row setting) bool { return row.env == variable })
}
