// Package stats counts what a cache does: for each tier hits, misses with
// their reasons, waits, builds, failures, evictions, bytes and time.
package stats

import (
	"encoding/json"
	"slices"
	"sync/atomic"
	"time"

	"github.com/kernstash/kernstash/reason"
)

// Recorder takes counts. Implementations are safe for concurrent use and do
// not block: they are called between a request and its answer.
type Recorder interface {
	// Add adds n to counter c.
	Add(c Counter, n int64)
}

// Noop is a Recorder that forgets.
type Noop struct{}

// Add does nothing.
func (Noop) Add(Counter, int64) {}

// Counters is a Recorder that keeps totals in memory. The zero value is ready.
type Counters struct {
	n [NumCounters]atomic.Int64
}

// Add adds n to counter c; a counter that does not exist is ignored.
func (k *Counters) Add(c Counter, n int64) {
	if c >= 0 && int(c) < NumCounters {
		k.n[c].Add(n)
	}
}

// Snapshot returns the totals so far. Counters that change meanwhile may be of
// slightly different moments.
func (k *Counters) Snapshot() Snapshot {
	var s Snapshot
	for i := range k.n {
		s[i] = k.n[i].Load()
	}
	return s
}

// Tee returns a Recorder that passes every count to all of to.
func Tee(to ...Recorder) Recorder { return tee(to) }

type tee []Recorder

func (t tee) Add(c Counter, n int64) {
	for _, r := range t {
		r.Add(c, n)
	}
}

// Counter is one number that a cache counts. Its number is part of what is
// kept on disk: append only, never reorder.
type Counter int

// What is counted. Bytes, durations (nanoseconds) and counts are all int64.
const (
	MemoryHits       Counter = iota // requests answered by a live program or kernel
	MemoryMisses                    // requests that found none
	MemoryWaits                     // requests that waited for a build already under way
	MemoryEvictions                 // programs dropped by the limits of the memory tier
	DiskHits                        // artifacts found, checked and loaded
	DiskMisses                      // artifacts not found; the reasons are counted below
	DiskWaits                       // builds that waited for another process
	DiskWaitsGivenUp                // such waits that ended at their bound
	DiskPuts                        // artifacts stored
	DiskPutsBettered                // stored artifacts replaced by a better form
	DiskPutsExisting                // puts that found as good an artifact there
	DiskPutsDropped                 // puts not done: over the limit, full queue, Close
	DiskPutFailures                 // puts that failed
	DiskEvictions                   // artifacts evicted
	DiskBytesRead                   // bytes of artifacts read by hits
	DiskBytesWritten                // bytes of artifacts written by puts
	DiskBytesEvicted                // bytes of artifacts evicted
	Corrupt                         // artifacts found damaged, or refused by the driver
	Builds                          // programs compiled
	BuildFailures                   // compilations that ended in a diagnostic or another error
	BuildTime                       // nanoseconds spent compiling; programs that a process compiles at once share them
	LoadTime                        // nanoseconds spent loading artifacts that hit
	SavedTime                       // recorded build cost − load cost, over all hits
	Captures                        // artifacts captured after a launch
	CapturesDropped                 // captures not done: Close, never launched, failed
	OutOfResources                  // times the memory tier was cleared for a retry
)

// The numbers between are those of reasons.
const (
	HeadersChecked Counter = iota + 53 // sources whose header files were found as they were
	HeadersScanned                     // sources that were scanned for header files
)

// More of what is counted.
const (
	ObserveEqual     Counter = iota + 57 // requests that would have hit, built to the bytes that are stored
	ObserveDifferent                     // of those, built to other bytes
	JobsAdded                            // jobs and launches put into the spool
	JobsMerged                           // such that were there already
	JobsDropped                          // jobs not kept: over a bound of the spool or of the cache, failed
	JobsDone                             // jobs that a worker did
	JobsRefused                          // jobs that a worker dropped, with a reason
	Delegated                            // programs built whose artifact is left to a worker
)

// What is counted of remotes: stores that many machines reach.
const (
	RemoteHits         Counter = iota + 73 // entries that a remote had
	RemoteMisses                           // requests that no remote answered
	RemoteErrors                           // calls of a remote that failed
	RemoteTimeouts                         // calls that ended at their deadline
	RemoteSkipped                          // calls not made: the remote had failed before
	RemoteBreaks                           // times that a remote was given up for a while
	RemotePuts                             // entries uploaded
	RemotePutsExisting                     // uploads that found as good an entry there
	RemotePutsDropped                      // uploads not done: full queue, end of the process
	RemotePutFailures                      // uploads that failed
	RemoteBytesRead                        // bytes of objects got
	RemoteBytesWritten                     // bytes of objects uploaded
	RemoteSavedTime                        // recorded build cost − time of the call, over all hits
	LeasesWon                              // builds that this machine made for all
	LeasesWaited                           // builds that waited for another machine
	LeasesGivenUp                          // such waits that ended at their bound
)

// NumCounters is how many numbers there are.
const NumCounters = 89

// reasons are what is counted of each reason.
var reasons = [NumCounters]reason.Reason{
	26: reason.NotCacheableHeaders, reason.NotCacheableTime, reason.NotCacheableFile, reason.NotCacheableOptions,
	reason.NotCacheableSize, reason.NotCacheableCheap, reason.NotCacheableRuntime,
	33: reason.MissAbsent, reason.MissTierOff, reason.MissUnreadable, reason.MissIrregular, reason.MissTruncated,
	reason.MissForeign, reason.MissVersion, reason.MissCollision, reason.MissDigest, reason.MissRefused,
	43: reason.NearestNothing, reason.NearestDevice, reason.NearestDriver, reason.NearestCompiler, reason.NearestImage,
	reason.NearestConstants, reason.NearestOptions, reason.NearestVariable, reason.NearestHeader,
	52: reason.NotCacheableChanged,
	55: reason.MissRefresh, reason.ObserveHits,
	65: reason.PassedBinary, reason.PassedInputs, reason.PassedOptions, reason.PassedBusy, reason.PassedOther, reason.PassedPanic,
	71: reason.MissUntrusted, reason.MissRemote,
}

// Of returns what counts a reason; for none, a counter that does not exist.
func Of(r reason.Reason) Counter {
	if r == 0 {
		return -1
	}
	return Counter(slices.Index(reasons[:], r))
}

var names = [NumCounters]string{
	MemoryHits: "memory.hits", MemoryMisses: "memory.misses", MemoryWaits: "memory.waits",
	MemoryEvictions: "memory.evictions",
	DiskHits:        "disk.hits", DiskMisses: "disk.misses", DiskWaits: "disk.waits",
	DiskWaitsGivenUp: "disk.waits.given-up", DiskPuts: "disk.puts",
	DiskPutsBettered: "disk.puts.bettered", DiskPutsExisting: "disk.puts.existing",
	DiskPutsDropped: "disk.puts.dropped", DiskPutFailures: "disk.puts.failed",
	DiskEvictions: "disk.evictions", DiskBytesRead: "disk.bytes.read",
	DiskBytesWritten: "disk.bytes.written", DiskBytesEvicted: "disk.bytes.evicted",
	Corrupt: "disk.corrupt",
	Builds:  "build.count", BuildFailures: "build.failures", BuildTime: "build.time-ns",
	LoadTime: "load.time-ns", SavedTime: "saved.time-ns",
	Captures: "capture.count", CapturesDropped: "capture.dropped",
	OutOfResources: "memory.out-of-resources",
	HeadersChecked: "headers.checked", HeadersScanned: "headers.scanned",
	JobsAdded: "jobs.added", JobsMerged: "jobs.merged", JobsDropped: "jobs.dropped",
	JobsDone: "jobs.done", JobsRefused: "jobs.refused",
	ObserveEqual: "observe.equal", ObserveDifferent: "observe.different",
	Delegated:  "build.delegated",
	RemoteHits: "remote.hits", RemoteMisses: "remote.misses", RemoteErrors: "remote.errors",
	RemoteTimeouts: "remote.timeouts", RemoteSkipped: "remote.skipped", RemoteBreaks: "remote.breaks",
	RemotePuts: "remote.puts", RemotePutsExisting: "remote.puts.existing",
	RemotePutsDropped: "remote.puts.dropped", RemotePutFailures: "remote.puts.failed",
	RemoteBytesRead: "remote.bytes.read", RemoteBytesWritten: "remote.bytes.written",
	RemoteSavedTime: "remote.saved.time-ns",
	LeasesWon:       "lease.won", LeasesWaited: "lease.waited", LeasesGivenUp: "lease.given-up",
}

// String returns the counter's name, as JSON and traces show it.
func (c Counter) String() string {
	if c < 0 || int(c) >= NumCounters {
		return "unknown"
	}
	if r := reasons[c]; r != 0 {
		return r.String()
	}
	return names[c]
}

// Snapshot holds the totals of one moment, indexed by [Counter].
type Snapshot [NumCounters]int64

// Get returns one total.
func (s Snapshot) Get(c Counter) int64 { return s[c] }

// Duration returns one of the totals that are nanoseconds.
func (s Snapshot) Duration(c Counter) time.Duration { return time.Duration(s[c]) }

// Sub returns what was counted between before and s.
func (s Snapshot) Sub(before Snapshot) Snapshot {
	for i := range s {
		s[i] -= before[i]
	}
	return s
}

// Plus returns the sums of s and other.
func (s Snapshot) Plus(other Snapshot) Snapshot {
	for i := range s {
		s[i] += other[i]
	}
	return s
}

// MarshalJSON writes an object of counter names and totals; zeros are left out.
func (s Snapshot) MarshalJSON() ([]byte, error) {
	m := make(map[string]int64)
	for i, n := range s {
		if n != 0 {
			m[Counter(i).String()] = n
		}
	}
	return json.Marshal(m)
}

// UnmarshalJSON reads what MarshalJSON wrote; unknown names are ignored.
func (s *Snapshot) UnmarshalJSON(b []byte) error {
	var m map[string]int64
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	*s = Snapshot{}
	for i := range s {
		s[i] = m[Counter(i).String()]
	}
	return nil
}
