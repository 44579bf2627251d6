package spool

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

var errRefused = errors.New("a worker refused it")

// maxRefused bounds the file of what was refused of a job.
const maxRefused = 1 << 20

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

// maxReason bounds a reason.
const maxReason = 2 << 10

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

// wasRefused says whether a job was refused for all of these launches. One that was done
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
