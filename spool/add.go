package spool

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// The bounds of the spool of a root. Over them the jobs that are oldest go. Uploads have bounds of
// their own, so that neither takes the other's place: a program may store thousands of entries in
// its first minute.
const (
	MaxJobs    = 256
	MaxUploads = 4096
	MaxBytes   = 256 << 20 // of each
)

// trimEvery is how many uploads are added, about, for each time that the bound is looked at: all
// jobs are listed for that.
const trimEvery = 64

// Result says what Add did.
type Result uint8

// The results of Add.
const (
	Dropped Result = iota // an error says why
	Added                 // there is a new job, or a new launch of one
	Merged                // all of it was there already
	Refused               // a worker refused it not long ago: there is no job
)

// Waits reports whether there is a job for a worker to do: a new one, or one that
// earlier workers came to no end with.
func (r Result) Waits() bool { return r == Added || r == Merged }

// Add puts a job into the spool of a store, or adds its launches to the job that
// is there. It takes no lock and waits for nobody. What is there already takes
// some 20 µs; the first time it takes as long as the file system makes a file,
// which is 30 µs or 1 ms. An error is for traces: the application goes on.
//
// What a worker refused not long ago is not added again. What was added and dropped is
// counted in rec, which may be nil.
func Add(ctx context.Context, s Store, j Job, rec stats.Recorder) (Result, error) {
	rec = cmp.Or[stats.Recorder](rec, stats.Noop{})
	res, err := add(ctx, s, j, rec)
	switch {
	case err != nil:
		rec.Add(stats.JobsDropped, 1)
		return Dropped, fmt.Errorf("add job: %w", err)
	case res != Added:
		rec.Add(stats.JobsMerged, 1)
	default:
		rec.Add(stats.JobsAdded, 1)
	}
	return res, nil
}

func add(ctx context.Context, s Store, j Job, rec stats.Recorder) (Result, error) {
	if j.Created.IsZero() {
		j.Created = time.Now()
	}
	if err := j.check(); err != nil {
		return Dropped, err
	}
	dir, name := j.Environment.Fingerprint(), j.Name()
	refused := false
	whole := func() (bool, error) {
		made, err := s.SpoolPut(ctx, dir, name, func() ([]byte, error) {
			if refused = wasRefused(ctx, s, dir, name, &j); refused {
				return nil, errRefused
			}
			for d, content := range j.Headers {
				_ = s.PutBlob(ctx, store.Headers, d, content) // a worker may find the file itself
			}
			return j.Encode()
		})
		if made {
			trim(ctx, s, name, rec)
		}
		return made, err
	}
	switch made, err := whole(); {
	case refused:
		return Refused, nil
	case made || err != nil:
		return Added, err
	}
	added, err := addLaunches(ctx, s, dir, name, j.Variants)
	if err != nil || !added {
		return Merged, err
	}
	// A worker that did the job meanwhile may not have seen the launches.
	if _, err = whole(); refused {
		err = nil
	}
	return Added, err
}

// addLaunches adds those launches to a job that it is without.
func addLaunches(ctx context.Context, s Store, dir, name string, variants []string) (added bool, err error) {
	b, _, _ := s.SpoolRead(ctx, dir, name, format.MaxJob)
	known := launches(b)
	for _, v := range variants[:min(len(variants), MaxVariants)] {
		if slices.Contains(known, v) {
			continue
		}
		made, err := s.SpoolPut(ctx, dir, partName(name, v), func() ([]byte, error) {
			if len(known)+parts(ctx, s, dir, name) >= MaxVariants {
				return nil, invalid("it has %d launches already", MaxVariants)
			}
			return []byte(v), nil
		})
		if err != nil {
			return added, err
		}
		added = added || made
	}
	return added, nil
}

func partName(job, variant string) string {
	sum := sha256.Sum256([]byte(variant))
	return job + "." + hex.EncodeToString(sum[:8])
}

// The words that end the names of a job's files that are no launches: those have
// sixteen digits there.
const (
	triesWord   = "tries"
	refusedWord = "refused"
)

// isLaunch reports whether a file is a launch that was added to a job.
func (f File) isLaunch(dir, job string) bool {
	name, whole := f.Job()
	return !whole && f.Dir == dir && name == job &&
		!strings.HasSuffix(f.Name, "."+triesWord) && !strings.HasSuffix(f.Name, "."+refusedWord)
}

// parts counts the launches of a job.
func parts(ctx context.Context, s Store, dir, job string) (n int) {
	files, _ := s.SpoolFiles(ctx)
	for _, f := range files {
		if f.isLaunch(dir, job) {
			n++
		}
	}
	return n
}

// trim drops the oldest jobs while there are too many, or too large ones. keep is the
// job that was added just now.
func trim(ctx context.Context, s Store, keep string, rec stats.Recorder) {
	upload := strings.HasSuffix(keep, "."+string(Upload))
	if upload && rand.IntN(trimEvery) > 0 {
		return
	}
	jobs, err := List(ctx, s)
	if err != nil {
		return
	}
	jobs = slices.DeleteFunc(jobs, func(e Entry) bool { return (e.Kind() == Upload) != upload })
	most := MaxJobs
	if upload {
		most = MaxUploads
	}
	var bytes int64
	for i := range jobs {
		bytes += jobs[i].Size
	}
	for i := range jobs {
		if len(jobs)-i <= most && bytes <= MaxBytes {
			return
		}
		if jobs[i].Name == keep {
			continue
		}
		bytes -= jobs[i].Size
		if drop(ctx, s, &jobs[i]) == nil {
			rec.Add(stats.JobsDropped, 1)
		}
	}
}
