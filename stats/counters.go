package stats

// Counter is one number that a cache counts. Its number is part of what is
// kept on disk: append only, never reorder.
type Counter int

// What is counted. Bytes, durations (nanoseconds) and counts are all int64.
const (
	MemoryHits          Counter = iota // requests answered by a live program or kernel
	MemoryMisses                       // requests that found none
	MemoryWaits                        // requests that waited for a build already under way
	MemoryEvictions                    // programs dropped by the limits of the memory tier
	DiskHits                           // artifacts found, checked and loaded
	DiskMisses                         // artifacts not found; the reasons are counted below
	DiskWaits                          // builds that waited for another process
	DiskWaitsGivenUp                   // such waits that ended at their bound
	DiskPuts                           // artifacts stored
	DiskPutsBettered                   // stored artifacts replaced by a better form
	DiskPutsExisting                   // puts that found as good an artifact there
	DiskPutsDropped                    // puts not done: over the limit, full queue, Close
	DiskPutFailures                    // puts that failed
	DiskEvictions                      // artifacts evicted
	DiskBytesRead                      // bytes of artifacts read by hits
	DiskBytesWritten                   // bytes of artifacts written by puts
	DiskBytesEvicted                   // bytes of artifacts evicted
	Corrupt                            // artifacts found damaged, or refused by the driver
	Builds                             // programs compiled
	BuildFailures                      // compilations that ended in a diagnostic or another error
	BuildTime                          // nanoseconds spent compiling
	LoadTime                           // nanoseconds spent loading artifacts that hit
	SavedTime                          // recorded build cost − load cost, over all hits
	Captures                           // artifacts captured after a launch
	CapturesDropped                    // captures not done: Close, never launched, failed
	OutOfResources                     // times the memory tier was cleared for a retry
	NotCacheableHeaders                // builds not stored: reads headers that cannot be known
	NotCacheableTime                   // builds not stored: code depends on date or time
	NotCacheableFile                   // builds not stored: code reads other files (.incbin)
	NotCacheableOptions                // builds not stored: options with side effects
	NotCacheableSize                   // builds not stored: device image outside the size window
	NotCacheableCheap                  // builds not stored: built faster than the minimum build time
	NotCacheableRuntime                // builds not stored: the runtime said so
	MissAbsent                         // disk miss: no such entry
	MissTierOff                        // disk miss: the tier is off
	MissUnreadable                     // disk miss: permission or I/O error
	MissIrregular                      // disk miss: symbolic link, FIFO, directory, device, foreign owner
	MissTruncated                      // disk miss: shorter or longer than its header says
	MissForeign                        // disk miss: not an entry at all (magic)
	MissVersion                        // disk miss: an entry of another format version
	MissCollision                      // disk miss: an entry of another key under the same names
	MissDigest                         // disk miss: bytes differ from their digest
	MissRefused                        // disk miss: the driver refused the artifact
	NearestNothing                     // explained miss: no entry is near
	NearestDevice                      // explained miss: only the device differs (name, version)
	NearestDriver                      // explained miss: only the driver version differs
	NearestCompiler                    // explained miss: only the compiler differs
	NearestImage                       // explained miss: only the device image differs, its code too
	NearestConstants                   // explained miss: only the specialization constants differ
	NearestOptions                     // explained miss: only the build options differ
	NearestVariable                    // explained miss: only an environment variable differs
	NearestHeader                      // explained miss: only header files differ
	NotCacheableChanged                // builds not stored: header files changed meanwhile
	HeadersChecked                     // sources whose header files were found as they were
	HeadersScanned                     // sources that were scanned for header files
	MissRefresh                        // disk miss: mode refresh does not look
	ObserveHits                        // mode observe: requests that would have hit
	ObserveEqual                       // of those, built to the bytes that are stored
	ObserveDifferent                   // of those, built to other bytes
	JobsAdded                          // jobs and launches put into the spool
	JobsMerged                         // such that were there already
	JobsDropped                        // jobs not kept: over a bound of the spool or of the cache, failed
	JobsDone                           // jobs that a worker did
	JobsRefused                        // jobs that a worker dropped, with a reason
	Delegated                          // programs built whose artifact is left to a worker
	PassedBinary                       // layers: programs of a binary that the application has
	PassedInputs                       // layers: links of programs that are not known
	PassedOptions                      // layers: builds with options that do more than build
	PassedBusy                         // layers: builds that would have waited too long, or for themselves
	PassedOther                        // layers: what else was passed through
	Panics                             // layers: errors of our own, which became the driver's own build

	NumCounters int = iota
)

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
	OutOfResources:      "memory.out-of-resources",
	NotCacheableHeaders: "not-cacheable.headers", NotCacheableTime: "not-cacheable.time",
	NotCacheableFile: "not-cacheable.file", NotCacheableOptions: "not-cacheable.options",
	NotCacheableSize: "not-cacheable.size", NotCacheableCheap: "not-cacheable.cheap",
	NotCacheableRuntime: "not-cacheable.runtime",
	MissAbsent:          "miss.absent", MissTierOff: "miss.tier-off", MissUnreadable: "miss.unreadable",
	MissIrregular: "miss.irregular", MissTruncated: "miss.truncated", MissForeign: "miss.foreign",
	MissVersion: "miss.version", MissCollision: "miss.collision", MissDigest: "miss.digest",
	MissRefused:    "miss.refused",
	NearestNothing: "nearest.nothing", NearestDevice: "nearest.device", NearestDriver: "nearest.driver",
	NearestCompiler: "nearest.compiler", NearestImage: "nearest.image",
	NearestConstants: "nearest.constants", NearestOptions: "nearest.options",
	NearestVariable: "nearest.variable", NearestHeader: "nearest.header",
	NotCacheableChanged: "not-cacheable.headers-changed",
	HeadersChecked:      "headers.checked", HeadersScanned: "headers.scanned",
	JobsAdded: "jobs.added", JobsMerged: "jobs.merged", JobsDropped: "jobs.dropped",
	JobsDone: "jobs.done", JobsRefused: "jobs.refused",
	MissRefresh: "miss.refresh",
	ObserveHits: "observe.hits", ObserveEqual: "observe.equal", ObserveDifferent: "observe.different",
	Delegated: "build.delegated", PassedBinary: "passed.binary", PassedInputs: "passed.inputs",
	PassedOptions: "passed.options", PassedBusy: "passed.busy", PassedOther: "passed.other", Panics: "passed.panics",
}

// String returns the counter's name, as JSON and traces show it.
func (c Counter) String() string {
	if c < 0 || int(c) >= NumCounters {
		return "unknown"
	}
	return names[c]
}
