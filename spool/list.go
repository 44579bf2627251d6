package spool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/store"
)

// Entry is a job that waits. Nothing in its files was looked at.
type Entry struct {
	Environment string // fingerprint
	Name        string
	Added       time.Time
	Changed     time.Time // when a launch was added last
	Size        int64     // bytes of its files

	files []File // the job itself comes first
}

// Kind returns what is to be done, by the name of the job.
func (e *Entry) Kind() Kind { return KindOf(e.Name) }

// KindOf returns the kind of a job by its name.
func KindOf(job string) Kind {
	_, kind, _ := strings.Cut(job, ".")
	return Kind(kind)
}

// List returns the jobs of a store's spool, the oldest first.
func List(ctx context.Context, s Store) ([]Entry, error) {
	files, err := s.SpoolFiles(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(files, func(a, b File) int { // a job comes right before its parts
		return cmp.Or(strings.Compare(a.Dir, b.Dir), strings.Compare(a.Name, b.Name))
	})
	var jobs []Entry
	for _, f := range files {
		name, whole := f.Job()
		if whole {
			jobs = append(jobs, Entry{Environment: f.Dir, Name: name, Added: f.Modified, Changed: f.Modified})
		}
		if len(jobs) == 0 {
			continue
		}
		j := &jobs[len(jobs)-1]
		if j.Environment != f.Dir || j.Name != name {
			continue // launches without a job go with gc
		}
		j.Size += f.Size
		j.files = append(j.files, f)
		if f.isLaunch(f.Dir, name) && f.Modified.After(j.Changed) {
			j.Changed = f.Modified
		}
	}
	slices.SortFunc(jobs, func(a, b Entry) int {
		return cmp.Or(a.Added.Compare(b.Added), strings.Compare(a.Name, b.Name))
	})
	return jobs, nil
}

// Read returns a job with its launches, sorted. A file that is no job is an
// error that wraps ErrInvalid, a job of another version one that wraps ErrVersion;
// any other says that it cannot be read now.
func Read(ctx context.Context, s Store, e *Entry) (*Job, error) {
	b, file, err := s.SpoolRead(ctx, e.Environment, e.Name, format.MaxJob)
	if errors.Is(err, store.ErrTooLarge) {
		err = invalid("%w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("read job: %w", err)
	}
	e.files[0] = file
	j, err := Parse(b)
	if err == nil && (j.Name() != e.Name || j.Environment.Fingerprint() != e.Environment) {
		err = invalid("it is under the name of another one")
	}
	if err != nil {
		return nil, fmt.Errorf("read job %s: %w", e.Name, err)
	}
	for _, f := range e.files {
		if !f.isLaunch(e.Environment, e.Name) {
			continue
		}
		b, _, err := s.SpoolRead(ctx, f.Dir, f.Name, maxText)
		v := string(b)
		if err == nil && isVariant(v) && partName(e.Name, v) == f.Name && len(j.Variants) < MaxVariants {
			j.Variants = append(j.Variants, v)
		}
	}
	slices.Sort(j.Variants)
	j.Variants = slices.Compact(j.Variants)
	return j, nil
}

// Remove removes a job that List returned, with the launches that it had then. A
// launch that was added since stays, and the job with it.
func Remove(ctx context.Context, s Store, e *Entry) error {
	whole, _, readErr := s.SpoolRead(ctx, e.Environment, e.Name, format.MaxJob)
	if err := drop(ctx, s, e); err != nil {
		return err
	}
	if _, tries, err := s.SpoolRead(ctx, e.Environment, e.Name+"."+triesWord, maxTries); err == nil {
		_ = s.SpoolRemove(ctx, tries)
	}
	// Who adds a launch writes it, and then looks for the job. So one that was
	// added while the job was there is seen here, or its job is made anew there.
	files, err := s.SpoolFiles(ctx)
	added := func(f File) bool { return f.isLaunch(e.Environment, e.Name) }
	if err != nil || readErr != nil || !slices.ContainsFunc(files, added) {
		return nil
	}
	_, err = s.SpoolPut(ctx, e.Environment, e.Name, func() ([]byte, error) { return whole, nil })
	if err != nil {
		return fmt.Errorf("keep job for its new launches: %w", err)
	}
	return nil
}

// drop removes the files of a job that List saw.
func drop(ctx context.Context, s Store, e *Entry) error {
	for _, f := range e.files {
		if err := s.SpoolRemove(ctx, f); err != nil {
			return err
		}
	}
	return nil
}
