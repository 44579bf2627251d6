package settings

import (
	"slices"
	"strings"
	"time"
)

// Values are the settings in force.
type Values struct {
	Disable    bool     // nothing is cached
	AppsOff    []string // programs by whose names nothing is cached
	Dir        string   // root of the disk tier, absolute; "" where there is none: the tier is off
	Mode       string   // ModeOn, …: what the disk tier is used for
	Persistent bool     // the disk tier is on
	InMemory   bool     // the memory tier is on

	MaxSize   int64         // bytes on disk, 0 = no limit
	Threshold time.Duration // entries without access for longer go, 0 = never
	Eviction  string        // EvictCost or EvictLRU
	Layers    []string      // read-only roots, in order

	Agent    string   // AgentAuto, AgentOff, or the path of its socket
	AgentUID []uint32 // of users, besides root and the own one, whose agent is believed

	Frameworks        string // whose own caches `kernstash run` switches on: FrameworksDefault, …, or names with commas
	FrameworksMaxSize int64  // bytes of those caches, 0 = no limit

	MinDeviceImageSize int64         // smaller device images are not stored
	MaxDeviceImageSize int64         // larger ones are not stored, 0 = no limit
	MinBuildTime       time.Duration // cheaper builds are not stored

	InMemEvictionThreshold int64 // bytes of programs kept in memory, 0 = no limit
	InMemCapacity          int   // programs kept in memory, 0 = none

	CompileOptions       *string // replaces the caller's compile options; nil = unset
	LinkOptions          *string // replaces the caller's link options; nil = unset
	AppendCompileOptions string  // added after the compile options
	AppendLinkOptions    string  // added after the link options

	CloseTimeout time.Duration // Close waits so long for captures and stores
	CaptureQuiet time.Duration // a capture waits until launches pause for so long

	Worker string // WorkerOff, …: who builds what could not be captured

	Records bool // which applications use what, and what they miss, is kept

	Compilers bool // those that are programs are served

	Remote        []string      // addresses of where many machines keep entries, the nearest first
	Tenant        string        // whose entries they are there
	RemoteTimeout time.Duration // of one call there
	RemoteSignKey string        // file of the private key that signs what is put there; "": nothing is signed
	Trust         string        // directory of the public keys whose signatures count, absolute; "": there is no list

	Trace     TraceMask
	TraceFile string // "" = standard error
}

// The modes: what the disk tier, and its layers, are used for.
const (
	ModeOn       = "on"        // read and written
	ModeReadOnly = "read-only" // read, never written
	ModeRefresh  = "refresh"   // never read: everything is built, and replaces what is there
	ModeObserve  = "observe"   // nothing is served: everything is built, and compared with what is there
	ModeOff      = "off"       // the same as the setting disable
)

// The eviction policies.
const (
	EvictCost = "cost" // build time saved per byte, aged
	EvictLRU  = "lru"  // least recently used
)

// Who builds what an application launched and could not capture itself.
const (
	WorkerOff    = "off"    // whoever calls `kernstash worker run`: it is only noted
	WorkerInline = "inline" // the process that notes it, where it is a Go program
	WorkerAuto   = "auto"   // a process of our own, which is started if need be
)

// Where the agent of the node is looked for, besides a path.
const (
	AgentAuto = "auto" // where it is by default
	AgentOff  = "off"  // nowhere
)

// Whose own caches are switched on, beside the names of frameworks.
const (
	FrameworksDefault = "default" // those that their documentation calls stable
	FrameworksAll     = "all"
	FrameworksNone    = "none"
)

// Frameworks are the names that the setting frameworks knows.
var Frameworks = []string{"jax", "dpcpp", "comgr"}

// setting is a row of the table: one setting, whatever its type.
type setting struct {
	Item  // but for its value
	empty bool
	set   func(text string) error
	get   func() string
}

const prefix = "KERNSTASH_"

// row returns the row of a setting whose value is kept in v.
func row[T any](name, deflt, about string, k kind[T], v *T) setting {
	return setting{
		Item: Item{
			Name: name, Variable: prefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_")),
			Default: deflt, Accepts: k.accepts, Description: about,
		},
		empty: k.empty,
		set: func(text string) error {
			x, err := k.parse(text)
			if err == nil {
				*v = x
			}
			return err
		},
		get: func() string { return k.format(*v) },
	}
}

// calledBy returns the name that an origin has for the setting.
func (s *setting) calledBy(from Origin) string {
	if from.Source == Environment {
		return s.Variable
	}
	return s.Name
}

// Names of the settings that this package treats apart.
const (
	nameDisable = "disable"
	nameAppsOff = "apps-off"
	nameDir     = "dir"
	nameRemote  = "remote"
	nameTrust   = "trust"

	disableVariable = prefix + "DISABLE"
)

// others are variables of ours that are no settings: they join a program and
// `kernstash run`, say where our libraries are, or which compilers a link has led to.
var others = []string{prefix + "REPORT", prefix + "INJECT", prefix + "LIBDIR", prefix + "COMMAND", prefix + "LIBRARY", prefix + "LINKED", Said}

type rows []setting

// table returns every setting, in the order in which they are shown.
func (v *Values) table() rows {
	return rows{
		row(nameDisable, "0", "1 switches the cache off, whatever else is set", boolKind, &v.Disable),
		row(nameDir, "", "root of the cache on disk", pathKind, &v.Dir),
		row("mode", ModeOn, "what the disk tier is for: on, read-only, refresh (builds and replaces all), observe (builds all and compares), off",
			modeKind, &v.Mode),
		row("persistent", "1", "the disk tier is on; without it a program that uses the Go library keeps 64 MiB of artifacts for itself", boolKind, &v.Persistent),
		row("in-mem", "1", "the memory tier is on", boolKind, &v.InMemory),
		row("max-size", "5GiB", "limit of the cache on disk, 0 = none", sizeKind, &v.MaxSize),
		row("threshold", "30", "days without access after which an entry goes, 0 = never", daysKind, &v.Threshold),
		row("eviction", EvictCost, "what goes first over the limit: cost (least build time saved per byte) or lru",
			evictionKind, &v.Eviction),
		row("layers", "", "read-only roots that are asked after the writable one, in order", pathsKind, &v.Layers),
		row("agent", AgentAuto, "socket of the agent of this node ('kernstash agent'): a path, auto (/run/kernstash/agent.sock, else $XDG_RUNTIME_DIR/kernstash/agent.sock), off",
			agentKind, &v.Agent),
		row("agent-uid", "", "numbers of users, besides root and yourself, whose agent is believed", uidsKind, &v.AgentUID),
		row("frameworks", FrameworksDefault, "frameworks whose own caches 'kernstash run' switches on: default, all, none, or a list of "+strings.Join(Frameworks, ", "),
			frameworksKind, &v.Frameworks),
		row("frameworks-max-size", "5GiB", "limit of the caches of frameworks that were switched on, 0 = none", sizeKind, &v.FrameworksMaxSize),
		row("min-device-image-size", "0", "smaller device images are not stored", sizeKind, &v.MinDeviceImageSize),
		row("max-device-image-size", "1GiB", "larger device images are not stored, 0 = no limit", sizeKind, &v.MaxDeviceImageSize),
		row("min-build-time", "0", "builds that take less are not stored", timeKind, &v.MinBuildTime),
		row("in-mem-eviction-threshold", "0", "bytes of programs kept in memory, 0 = no limit", sizeKind, &v.InMemEvictionThreshold),
		row("in-mem-capacity", "1024", "programs kept in memory, 0 = none", countKind, &v.InMemCapacity),
		row("compile-options", "", "replaces the compile options of every build", overrideKind, &v.CompileOptions),
		row("link-options", "", "replaces the link options of every build", overrideKind, &v.LinkOptions),
		row("append-compile-options", "", "added to the compile options of every build", textKind, &v.AppendCompileOptions),
		row("append-link-options", "", "added to the link options of every build", textKind, &v.AppendLinkOptions),
		row("close-timeout", "5s", "how long Close waits for captures and stores", timeKind, &v.CloseTimeout),
		row("capture-quiet", "50ms", "how long launches must pause before code is captured", timeKind, &v.CaptureQuiet),
		row("worker", WorkerAuto, "who builds what an application launched and could not capture: auto (a process that is started), inline (this process), off (only 'kernstash worker run')",
			workerKind, &v.Worker),
		row("records", "1", "which applications use which entry, and what they miss, is kept", boolKind, &v.Records),
		row("compilers", "1", "compilers that are programs are run with the cache ('kernstash compile')", boolKind, &v.Compilers),
		row(nameAppsOff, "", "programs that have no cache, by their names ('kernstash disable --app')", namesKind, &v.AppsOff),
		row(nameRemote, "", "where many machines keep entries, the nearest first (see docs/FLEET.md)", remotesKind, &v.Remote),
		row("tenant", "default", "whose entries they are there", tenantKind, &v.Tenant),
		row("remote-timeout", "500ms", "how long one call there may take", timeKind, &v.RemoteTimeout),
		row("remote-sign-key", "", "file with the private key that signs what is put there", pathKind, &v.RemoteSignKey),
		row(nameTrust, "", "directory of the public keys whose signatures count, for bundles and what comes from remotes", pathKind, &v.Trust),
		row("trace", "0", "what is traced: disk, memory, keys, all", traceKind, &v.Trace),
		row("trace-file", "", "where traces go, else to standard error", pathKind, &v.TraceFile),
	}
}

// byName returns the row of a name, nil if there is none.
func (t rows) byName(name string) *setting {
	if i := slices.IndexFunc(t, func(row setting) bool { return row.Name == name }); i >= 0 {
		return &t[i]
	}
	return nil
}

// known reports whether a variable is a setting, or another one of ours.
func (t rows) known(variable string) bool {
	isIt := func(row setting) bool { return row.Variable == variable }
	return slices.Contains(others, variable) || slices.ContainsFunc(t, isIt)
}
