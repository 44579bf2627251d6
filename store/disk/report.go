package disk

import "encoding/json"

// maxProblems bounds how many problems a report describes; all are counted.
const maxProblems = 1000

// Report is what Verify, GC and Clear found and did.
type Report struct {
	Entries       int64 `json:"entries"`        // entries seen
	Bytes         int64 `json:"bytes"`          // what they take, with recipes, directories, header files, manifests and jobs
	Damaged       int64 `json:"damaged"`        // entries that can hit nowhere
	LostRecipes   int64 `json:"lost_recipes"`   // good entries without a good recipe
	Orphans       int64 `json:"orphans"`        // recipes without an entry, left behind
	OtherVersions int64 `json:"other_versions"` // entries of another version of kernstash
	Temporary     int64 `json:"temporary"`      // temporary files left behind, removed
	EmptyDirs     int64 `json:"empty_dirs"`     // empty directories removed
	Headers       int64 `json:"headers"`        // contents of header files that no recipe names, removed
	BadHeaders    int64 `json:"bad_headers"`    // contents of header files that are damaged
	Manifests     int64 `json:"manifests"`      // lists of header files that were not used for too long, removed
	Jobs          int64 `json:"jobs"`           // jobs that no worker did for too long, removed

	// Removed counts entries, and RemovedBytes all that was removed with them
	// or that nobody needed; with DryRun, what would have been.
	Removed      int64 `json:"removed"`
	RemovedBytes int64 `json:"removed_bytes"`

	DryRun   bool      `json:"dry_run,omitempty"`
	Problems []Problem `json:"problems,omitempty"` // the first of them
}

// Problem is one thing that is wrong.
type Problem struct {
	Location string // path below the root
	Err      error
	Repaired bool // by removing it
}

// MarshalJSON writes the error as its text.
func (p Problem) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Location string `json:"location"`
		Reason   string `json:"reason"`
		Repaired bool   `json:"repaired"`
	}{p.Location, p.Err.Error(), p.Repaired})
}

func (r *Report) problem(location string, err error, repaired bool) {
	if len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, Problem{location, err, repaired})
	}
}
