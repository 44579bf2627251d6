// Package job does a job of the spool that is OpenCL's, in this process, which exists for
// that job alone: it finds the device, works out the recipe's key from what it sees here,
// builds if that is the key of the job, and stores.
package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// Do does a job, in this process's environment, which must be the job's, and
// stores what it makes. dir is a directory of its own: what it leaves there is
// the caller's to remove. Do changes the working directory.
func Do(ctx context.Context, s *disk.Store, j *spool.Job, dir string) spool.Outcome {
	b := &builder{ctx: ctx, store: s, job: j, dir: dir}
	state, err := b.run()
	if state == spool.JobRefused && passes(err) {
		state = spool.JobElsewhere
	}
	o := spool.Outcome{State: state, Left: b.left, Missing: state == spool.JobElsewhere && errors.Is(err, errMissing)}
	if err != nil {
		o.Reason = err.Error()
	}
	return o
}

// passes reports whether an error is of this machine, now, and not of the job: with
// room on the disk it may be done.
func passes(err error) bool {
	return slices.ContainsFunc([]error{
		syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO, syscall.ESTALE,
		syscall.ENOMEM, syscall.EAGAIN, syscall.EMFILE, syscall.ENFILE,
	}, func(e error) bool { return errors.Is(err, e) })
}

var (
	errMissing    = errors.New("") // marks what another machine may have; it says nothing
	errDiagnostic = errors.New("it has mistakes")
)

type builder struct {
	ctx   context.Context
	store *disk.Store
	job   *spool.Job
	dir   string
	left  []string // launches that no code was made for
}

func (b *builder) run() (spool.JobState, error) {
	p, err := findPlace(b.ctx, b.store, b.job, b.dir)
	if err != nil {
		return spool.JobRefused, err
	}
	if err := os.Chdir(p.dir); err != nil {
		return spool.JobRefused, err
	}
	d, err := b.device()
	if err != nil {
		return spool.JobElsewhere, err
	}
	c, err := opencl.Open(d)
	if err != nil {
		return spool.JobElsewhere, err
	}
	// Nothing is released: the process ends, and ending is what drivers are worst at.
	stored, variants := b.wanted()
	if stored != nil && covers(stored, b.job, d.Kind()) {
		return spool.JobThere, nil
	}
	rt := opencl.NewRuntime(c, opencl.RuntimeOptions{SpecializeVariants: variants, CaptureUnlaunched: true})
	fresh, err := workOut(rt, d, b.job, p)
	if err != nil {
		return spool.JobRefused, err
	}
	if what := differs(fresh.recipe.Key(), b.job.Key()); what != "" {
		return spool.JobRefused, fmt.Errorf("here it has another key: %s differs", what)
	}
	if b.job.Kind == spool.Finish {
		return b.finish(rt, stored)
	}
	return b.build(rt, fresh)
}

// device returns the device of the recipe's identity.
func (b *builder) device() (*opencl.Device, error) {
	devices, err := opencl.Devices(opencl.AnyType)
	if err != nil {
		return nil, fmt.Errorf("no OpenCL here: %w%w", err, errMissing)
	}
	want := b.job.Recipe.Device
	near := ""
	for _, d := range devices {
		id, err := d.Identify()
		if err == nil && id.Digest() == want.Digest() {
			return d, nil
		}
		if d.Name == want.Name && d.Platform().Name == want.Platform {
			near = ", though one of its name with another driver, compiler or trait"
		}
	}
	return nil, fmt.Errorf("no such device here%s: %s/%s%w", near, want.Platform, want.Name, errMissing)
}

// wanted returns the stored artifact, nil for none, and the launches that a new
// one must be ready for.
func (b *builder) wanted() (stored *store.Artifact, variants []string) {
	all := b.job.Variants
	if e, err := b.store.Get(b.ctx, b.job.Key()); err == nil {
		stored = e.Artifact
		// Those that are there stay, or it would not be better.
		all = slices.Concat(stored.Variants, all)
	}
	for _, v := range all {
		if len(variants) < spool.MaxVariants && !slices.Contains(variants, v) {
			variants = append(variants, v)
		}
	}
	return stored, variants
}

// covers reports whether a stored artifact leaves nothing to do of a job.
func covers(a *store.Artifact, j *spool.Job, kind opencl.Kind) bool {
	if len(a.Binaries) == 0 {
		return false
	}
	switch form := a.Binaries[0].Form; {
	case form == store.FormFinal:
		return true
	case j.Kind == spool.Finish:
		return false
	case kind != opencl.Deferred:
		return true
	case form != store.FormDeferred:
		return false
	}
	left := slices.DeleteFunc(slices.Clone(j.Variants), func(v string) bool { return slices.Contains(a.Variants, v) })
	return len(left) == 0 || len(a.Variants) >= spool.MaxVariants
}

func (b *builder) build(rt *opencl.Runtime, fresh *anew) (spool.JobState, error) {
	begin := time.Now()
	_, a, err := rt.Build(b.ctx, kernstash.Job{Devices: []int{0}, Recipe: fresh.recipe})
	took := time.Since(begin)
	var diagnostic *kernstash.BuildError
	switch {
	case errors.As(err, &diagnostic):
		state := spool.JobRefused
		if b.job.Kind == spool.Capture {
			// What an application had built has no mistakes: a full disk, or a file that went,
			// has the compiler say so too.
			state = spool.JobFailed
		}
		return state, fmt.Errorf("the compiler refused it: %w", cmp.Or(diagnostic.Err, errDiagnostic))
	case errors.Is(err, kernstash.ErrOutOfResources):
		return spool.JobElsewhere, err
	case err != nil:
		return spool.JobRefused, err
	case a == nil:
		return spool.JobRefused, errors.New("the driver gave no code for it")
	}
	if changed := fresh.changed(); changed != "" {
		return spool.JobRefused, fmt.Errorf("%s changed while it was built", changed)
	}
	for _, v := range b.job.Variants {
		if !slices.Contains(a.Variants, v) && a.Binaries[0].Form == store.FormDeferred {
			b.left = append(b.left, v)
		}
	}
	a.Cost = cmp.Or(b.job.Cost, took)
	return b.put(a)
}

// put stores an artifact under the job's key, with the job's recipe.
func (b *builder) put(a *store.Artifact) (spool.JobState, error) {
	if b.job.HasLog {
		a.Log = b.job.Log
	}
	if _, err := os.Stat(b.dir); err != nil {
		return spool.JobElsewhere, fmt.Errorf("the cache was removed: %w", err)
	}
	a.Created = time.Now()
	res, err := b.store.Put(b.ctx, &store.Entry{Key: b.job.Key(), Recipe: b.job.Recipe, Artifact: a})
	switch {
	case errors.Is(err, store.ErrDropped):
		return spool.JobElsewhere, err // there may be room later
	case err != nil:
		return spool.JobRefused, err
	case res == store.Existing:
		return spool.JobThere, nil
	}
	return spool.JobStored, nil
}

// finish makes machine code of the intermediate code that is stored.
func (b *builder) finish(rt *opencl.Runtime, stored *store.Artifact) (spool.JobState, error) {
	if stored == nil {
		return spool.JobVoid, errors.New("the entry to finish is gone")
	}
	finished, err := rt.Finish(b.ctx, kernstash.Job{Devices: []int{0}, Recipe: b.job.Recipe}, stored)
	switch {
	case errors.Is(err, opencl.ErrElsewhere):
		return spool.JobElsewhere, err
	case err != nil:
		return spool.JobRefused, err
	}
	return b.put(finished)
}

// anew is a recipe as it was worked out here.
type anew struct {
	recipe  *key.Recipe
	changes []func() string // of header files, and of the ways to them: each names what is not as it was
}

// changed names a header file that is not as it was when the key was worked out,
// "" if there is none.
func (a *anew) changed() string {
	for _, change := range a.changes {
		if c := change(); c != "" {
			return c
		}
	}
	return ""
}

// workOut returns the recipe of a job by what is here: the device, the variables and the header
// files are not the job's word but what this process sees. The working directory is p's.
func workOut(rt *opencl.Runtime, d *opencl.Device, j *spool.Job, p place) (*anew, error) {
	identity, err := d.Identify()
	if err != nil {
		return nil, err
	}
	r := &key.Recipe{Device: identity, Image: j.Recipe.Image, Constants: j.Recipe.Constants, Options: j.Recipe.Options}
	if r.Options.Variables, err = rt.Variables(0); err != nil {
		return nil, err
	}
	r.Options.Search = p.search
	out := &anew{recipe: r}
	if !keepsPlace(r.Image) {
		return out, nil
	}
	search, err := rt.HeaderSearch(0, p.dir, kernstash.Request{})
	if err != nil {
		return nil, err
	}
	search.Dir = p.dir
	words := slices.Concat(p.search, r.Options.Compile)
	units := slices.Clone(r.Image.Units())
	for i, u := range units {
		if len(u.Includes) == 0 && u.Dir == "" {
			continue
		}
		bare := key.Unit{Kind: u.Kind, Code: u.Code, Headers: u.Headers}
		tracking, against := deps.Track(bare, words, search)
		if !against.None() {
			return nil, fmt.Errorf("what it includes cannot be known here: %v", against)
		}
		units[i] = tracking.Unit
		out.changes = append(out.changes, tracking.Manifest.Changed, tracking.Manifest.Ways().Changed)
	}
	if r.Image, err = r.Image.Tracked(units); err != nil {
		return nil, err
	}
	return out, nil
}

// differs says in which component two keys differ, "" if in none.
func differs(a, b key.Key) string {
	switch {
	case a.Device != b.Device:
		return "the device"
	case a.Image != b.Image:
		return "its source or a header file"
	case a.Constants != b.Constants:
		return "its constants"
	case a.Options != b.Options:
		return "its options, or a variable that the compiler obeys"
	case a != b:
		return "the schema"
	}
	return ""
}
