package settings

import "time"

// Values are the settings in force.
type Values struct {
	Disable    bool   // nothing is cached
	Dir        string // root of the disk tier, absolute; "" where there is none: the tier is off
	Mode       string // ModeOn, …: what the disk tier is used for
	Persistent bool   // the disk tier is on
	InMemory   bool   // the memory tier is on

	MaxSize   int64         // bytes on disk, 0 = no limit
	Threshold time.Duration // entries without access for longer go, 0 = never
	Eviction  string        // EvictCost or EvictLRU
	Layers    []string      // read-only roots, in order

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
