package disk

// maxProblems bounds how many problems a report describes; all are counted.
const maxProblems = 1000

// Report is what Verify, GC and Clear found and did.
type Report struct {
	Entries       int64 // entries seen
	Bytes         int64 // what they take, with recipes, directories, header files, manifests and jobs
	Damaged       int64 // entries that can hit nowhere
	LostRecipes   int64 // good entries without a good recipe
	Orphans       int64 // recipes without an entry, left behind
	OtherVersions int64 // entries of another version of kernstash
	Temporary     int64 // temporary files left behind, removed
	EmptyDirs     int64 // empty directories removed
	Headers       int64 // contents of header files that no recipe names, removed
	BadHeaders    int64 // contents of header files that are damaged
	Manifests     int64 // lists of header files that were not used for too long, removed
	Jobs          int64 // jobs that no worker did for too long, removed

	// Removed counts entries, and RemovedBytes all that was removed with them
	// or that nobody needed; with DryRun, what would have been.
	Removed, RemovedBytes int64

	Problems []Problem // the first of them
}

// Problem is one thing that is wrong.
type Problem struct {
	Location string // path below the root
	Err      error
	Repaired bool // by removing it
}

func (r *Report) problem(location string, err error, repaired bool) {
	if len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, Problem{location, err, repaired})
	}
}
