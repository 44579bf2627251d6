package spool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// JobState says how a job ended.
type JobState string

// The states.
const (
	JobStored    JobState = "stored"    // the cache has the artifact
	JobThere     JobState = "there"     // it had one as good before
	JobRefused   JobState = "refused"   // it will not be done: Reason says why
	JobFailed    JobState = "failed"    // it was not done, though it was once: it is tried again, later
	JobVoid      JobState = "void"      // there is nothing to do any more
	JobElsewhere JobState = "elsewhere" // it cannot be done here, but may be elsewhere, or later
)

// Outcome is what became of a job. It is what a building process says at its end;
// one that says nothing crashed.
type Outcome struct {
	State  JobState `json:"state"`
	Reason string   `json:"reason,omitempty"`

	// Missing says that what is not here is the device or its driver: a machine that
	// has them can do the job.
	Missing bool `json:"missing,omitempty"`

	// Left are launches of a job that was done for the others: the driver makes
	// no code for them ahead of time.
	Left []string `json:"left,omitempty"`
}

// Tries are what became of a job so far, in a file beside it: so a compiler that
// takes its worker down with it, each time, is not asked for ever.
type Tries struct {
	Begun  int `json:"begun"`  // times that a worker began it, where it could be done
	Failed int `json:"failed"` // times that its compiler crashed, or took too long

	Machines []machine `json:"missing,omitempty"` // that have not what it needs, the latest last
}

// machine is one on which a job could not be done.
type machine struct {
	ID     uint64 `json:"machine"`
	Minute int64  `json:"minute"` // since 1970
}

const (
	maxMachines = 16
	maxTries    = 4 << 10 // bytes of the file of tries
	maxRefused  = 1 << 20 // bytes of the file of what was refused
	maxReason   = 2 << 10
)

// Missing notes that the job cannot be done on a machine, for what is not there, and
// that the attempt is no fault of the job's.
func (t *Tries) Missing(name string, now time.Time) {
	id := idOf(name)
	t.Machines = slices.DeleteFunc(t.Machines, func(m machine) bool { return m.ID == id })
	t.Machines = append(t.Machines, machine{id, now.Unix() / 60})
	t.Machines = t.Machines[max(0, len(t.Machines)-maxMachines):]
	t.Begun = max(0, t.Begun-1)
}

// MissingSince says since when a machine is known not to have what the job needs.
func (t *Tries) MissingSince(name string) (since time.Time, is bool) {
	for _, m := range t.Machines {
		if m.ID == idOf(name) {
			return time.Unix(m.Minute*60, 0), true
		}
	}
	return time.Time{}, false
}

func idOf(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return h.Sum64()
}

// ReadTries returns what became of a job so far.
func ReadTries(ctx context.Context, s Store, e *Entry) Tries {
	b, _, _ := s.SpoolRead(ctx, e.Environment, e.Name+"."+triesWord, maxTries)
	return parseTries(b)
}

func parseTries(b []byte) (t Tries) {
	if json.Unmarshal(b, &t) != nil || t.Begun < 0 || t.Failed < 0 {
		return Tries{}
	}
	return t
}

// WriteTries notes what became of a job. Only the one worker does.
func WriteTries(ctx context.Context, s Store, e *Entry, t Tries) error {
	b, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return replace(ctx, s, e.Environment, e.Name+"."+triesWord, b)
}

var errRefused = errors.New("a worker refused it")

// Refuse removes a job for good, with the launches that it has, and keeps the reason:
// who adds them again within two weeks adds nothing, since it would end in the same way.
// The key of a job says by which driver and compiler it is built, so with others it is
// another job.
func Refuse(ctx context.Context, s Store, e *Entry, j *Job, reason string) error {
	return refuse(ctx, s, e, nil, append([]string{reasonMark + oneLine(reason)}, j.Variants...))
}

// Left removes a job that was done but for some of its launches, which are refused.
func Left(ctx context.Context, s Store, e *Entry, j *Job, launches []string) error {
	return refuse(ctx, s, e, j.Variants, launches)
}

// reasonMark begins the line of the reason, which only a job has that was refused as a
// whole. No launch begins so: versions that know no reasons take it for one that never
// comes.
const reasonMark = "# "

func oneLine(reason string) string {
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "") + "…"
	}
	return strings.Join(strings.Fields(reason), " ")
}

// refuse notes launches, and forgets those that are done and why it was refused before.
func refuse(ctx context.Context, s Store, e *Entry, done, lines []string) error {
	name := e.Name + "." + refusedWord
	known, _, err := s.SpoolRead(ctx, e.Environment, name, maxRefused)
	if err := Remove(ctx, s, e); err != nil {
		return err
	}
	if err == nil && len(known) > 0 {
		earlier := slices.DeleteFunc(strings.Split(string(known), "\n"), func(v string) bool {
			return strings.HasPrefix(v, reasonMark) || slices.Contains(done, v)
		})
		lines = append(earlier, lines...)
	}
	lines = slices.Compact(slices.Sorted(slices.Values(lines))) // the reason comes first
	if len(lines) == 0 {
		return nil
	}
	return replace(ctx, s, e.Environment, name, []byte(strings.Join(lines, "\n")))
}

// replace writes a file in place of the one of its name.
func replace(ctx context.Context, s Store, dir, name string, b []byte) error {
	if _, old, err := s.SpoolRead(ctx, dir, name, maxRefused); err == nil {
		if err := s.SpoolRemove(ctx, old); err != nil {
			return err
		}
	}
	_, err := s.SpoolPut(ctx, dir, name, func() ([]byte, error) { return b, nil })
	return err
}

// refusedAge is for how long what was refused is not added again, whether or not
// somebody calls GC, which removes the file then.
const refusedAge = 14 * 24 * time.Hour

// wasRefused reports whether a job was refused for all of these launches. One that was done
// but for some launches is refused only where there is an artifact to do without them: it
// may have been evicted.
func wasRefused(ctx context.Context, s Store, dir, job string, j *Job) bool {
	b, f, err := s.SpoolRead(ctx, dir, job+"."+refusedWord, maxRefused)
	if err != nil || time.Since(f.Modified) > refusedAge || !j.Stored && !strings.HasPrefix(string(b), reasonMark) {
		return false
	}
	known := strings.Split(string(b), "\n")
	return !slices.ContainsFunc(j.Variants, func(v string) bool { return !slices.Contains(known, v) })
}

// Refusal is a job that was refused as a whole, and is not added again for a while.
type Refusal struct {
	Job    string    `json:"job"` // its name
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at"`
}

// Refusals returns the latest jobs that were refused, the newest first, at most most.
func Refusals(ctx context.Context, s Store, most int) ([]Refusal, error) {
	files, err := s.SpoolFiles(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(files, func(a, b File) int {
		return cmp.Or(b.Modified.Compare(a.Modified), strings.Compare(a.Name, b.Name))
	})
	var all []Refusal
	for _, f := range files {
		if len(all) >= most || time.Since(f.Modified) > refusedAge {
			break
		}
		if !strings.HasSuffix(f.Name, "."+refusedWord) {
			continue
		}
		b, _, err := s.SpoolRead(ctx, f.Dir, f.Name, maxRefused)
		line, _, _ := strings.Cut(string(b), "\n")
		if reason, is := strings.CutPrefix(line, reasonMark); err == nil && is {
			name, _ := f.Job()
			all = append(all, Refusal{name, reason, f.Modified})
		}
	}
	return all, nil
}
