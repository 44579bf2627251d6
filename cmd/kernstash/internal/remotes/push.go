package remotes

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/bundles"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/ledger"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/trust"
)

const (
	putsAtOnce = 8
	getsAtOnce = 64 // one round trip of an engine that can
	maxFailed  = 3  // in a row: then the remote is given up
	maxKeys    = 16 << 20
)

// moved is what `remote push --json` and `remote pull --json` write: a line for each remote.
type moved struct {
	Remote   string    `json:"remote"`
	Selected int64     `json:"selected"` // entries that were asked for
	Stored   int64     `json:"stored"`   // with --dry-run: that would be
	Existing int64     `json:"existing"`
	TooLarge int64     `json:"too_large,omitempty"`
	Absent   int64     `json:"absent,omitempty"` // keys that it does not have
	Failed   int64     `json:"failed,omitempty"`
	Lists    int64     `json:"lists,omitempty"` // of header files, stored
	Bytes    int64     `json:"bytes"`           // of artifacts stored
	App      *appPut   `json:"app,omitempty"`
	DryRun   bool      `json:"dry_run,omitempty"`
	Problems []problem `json:"problems,omitempty"`
}

type problem struct {
	Key string `json:"key"`
	Why string `json:"why"`
}

const maxProblems = 20

func (m *moved) fail(key string, err error) {
	m.Failed++
	if len(m.Problems) < maxProblems {
		m.Problems = append(m.Problems, problem{key, err.Error()})
	}
}

// Selection is which entries are meant.
type Selection struct {
	Remote  string   // its number or the beginning of its address; "": all
	Filters []string // as those of `bundle create`
	DryRun  bool
}

// PushOptions say what `remote push` puts.
type PushOptions struct {
	Selection
	Keys string // a file of keys, "-" for standard input; "": all that the filters ask for
	App  string // what it has used here, the most valuable first; "": all
	As   string // the application that is said to use them; "": none
}

// keys returns the sums of the keys that are named; nil: none are, so that all are meant.
func (o *PushOptions) keys(ctx context.Context, c cli.Cache) (sums []key.Digest, err error) {
	switch {
	case o.App != "":
		keys, err := ledger.Keys(ctx, c, o.App)
		if err == nil && len(keys) == 0 {
			err = fmt.Errorf("--app %s: it is not recorded here to have used anything ('kernstash ls --long' names applications)", o.App)
		}
		for _, k := range keys {
			sums = append(sums, k.Sum)
		}
		return sums, err
	case o.Keys != "":
		return readKeys(c.In, o.Keys)
	}
	return nil, nil
}

// Push puts the entries of the cache into the remotes, with the lists of header files that they need, and writes what
// an application uses.
func Push(ctx context.Context, c cli.Cache, o PushOptions) error {
	filter, err := bundles.Filter(o.Filters)
	if err != nil {
		return err
	}
	if o.As = cmp.Or(o.As, o.App); o.App != "" && o.Keys != "" {
		return cli.Usagef("--app and --keys both say what to put: give one of them")
	}
	if err := remote.CheckApp(o.As); o.As != "" && err != nil {
		return cli.Usagef("--as: %v", err)
	}
	chosen, err := o.keys(ctx, c)
	if err != nil {
		return err
	}
	isChosen := make(map[key.Digest]bool, len(chosen))
	for _, sum := range chosen {
		isChosen[sum] = true
	}
	return within(c.App, o.Remote, func(chain *Chain) error {
		for _, t := range chain.Tiers {
			if err := chain.reach(ctx, t); err != nil {
				return err
			}
		}
		p := c.Progress()
		defer p.Done()
		var infos []store.Info
		for info, err := range c.Disk.List(ctx) {
			if err != nil {
				return err
			}
			if info.Bad == nil && filter(info) && (chosen == nil || isChosen[info.Key.Sum]) {
				infos = append(infos, info)
			}
		}
		lists, err := ReadLists(ctx, c.Disk)
		if err != nil {
			return err
		}
		report := []moved{}
		var failed error
		for _, t := range chain.Tiers {
			var m moved
			var names []key.Digest
			m, names, failed = pushTo(ctx, t, c.Disk, lists, infos, o.DryRun, p.Counting("pushed", int64(len(infos))))
			if failed == nil && o.As != "" && !o.DryRun {
				sums := chosen
				if sums == nil {
					for _, i := range infos {
						sums = append(sums, i.Key.Sum)
					}
				}
				m.App, failed = putApp(ctx, t, o.As, sums, names)
			}
			if report = append(report, m); failed != nil {
				failed = named(t, failed)
				break
			}
		}
		p.Done()
		return write(c.App, "pushed", report, failed)
	})
}

func write(a *cli.App, verb string, report []moved, failed error) error {
	good := !slices.ContainsFunc(report, func(m moved) bool { return m.Failed > 0 })
	return reported(a, report, good, failed, func() {
		for _, m := range report {
			for _, p := range m.Problems {
				fmt.Fprintf(a.Err, "kernstash: left out: %.12s: %s\n", p.Key, human.Printable(p.Why, false))
			}
			verb, from := verb, "to"
			if verb == "pulled" {
				from = "from"
			}
			if m.DryRun {
				verb = "would have " + verb
			}
			a.Printf("%s: %s %s of %d %s it, %s; %d were there", human.Printable(m.Remote, false), verb,
				human.Plural(m.Stored, "entry"), m.Selected, from, human.Size(m.Bytes), m.Existing)
			for _, of := range []struct {
				n    int64
				what string
			}{{m.TooLarge, "too large for it"}, {m.Absent, "not there"}, {m.Failed, "failed"}} {
				if of.n > 0 {
					a.Printf(", %d %s", of.n, of.what)
				}
			}
			if m.Lists > 0 {
				a.Printf("; %s of header files", human.Plural(m.Lists, "list"))
			}
			a.Printf("\n")
			m.App.write(a, m.Remote)
		}
	})
}

// pushTo puts entries into one remote, some at once, and returns the names of the lists of header files that they need.
func pushTo(
	ctx context.Context, t Tier, d *disk.Store, lists *Lists, infos []store.Info, dry bool, progress func(int64),
) (m moved, names []key.Digest, err error) {
	m = moved{Remote: t.Name, Selected: int64(len(infos)), DryRun: dry}
	if dry {
		there, err := sums(ctx, t)
		if err != nil && !errors.Is(err, remote.ErrUnsupported) {
			return m, nil, err
		}
		for _, i := range infos {
			if there[i.Key.Sum] {
				m.Existing++
				continue
			}
			m.Stored++
			m.Bytes += i.Size
		}
		return m, nil, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	var wg sync.WaitGroup
	var done, failed int64
	seen := make(map[key.Digest]bool)
	needs := func(e *store.Entry) (unseen []key.Digest) {
		mu.Lock()
		defer mu.Unlock()
		for _, name := range lists.Of(e.Recipe) {
			if !seen[name] {
				seen[name] = true
				unseen = append(unseen, name)
			}
		}
		return unseen
	}
	turns := make(chan struct{}, putsAtOnce)
	for _, i := range infos {
		turns <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-turns }()
			e, err := entryOf(ctx, d, i.Key)
			gone := errors.Is(err, store.ErrNotFound)
			var res store.PutResult
			if err == nil {
				res, err = put(ctx, t, e)
			}
			var of []key.Digest
			var ofLists int64
			if err == nil {
				of = needs(e)
				ofLists, err = putLists(ctx, t, lists, of)
			}
			mu.Lock()
			defer mu.Unlock()
			names, m.Lists = append(names, of...), m.Lists+ofLists
			done++
			progress(done)
			switch {
			case ctx.Err() != nil:
				return
			case gone, errors.Is(err, trust.ErrUntrusted): // it came under a key that is revoked
				m.fail(i.Key.String(), err)
				return // no fault of the remote
			case errors.Is(err, errTooLarge):
				m.TooLarge++
			case err != nil:
				m.fail(i.Key.String(), errors.New(said(err)))
				if failed++; failed >= maxFailed {
					cancel(fmt.Errorf("given up: %s", said(err)))
				}
				return
			case res == store.Existing:
				m.Existing++
			default:
				m.Stored++
				m.Bytes += e.Artifact.Size()
			}
			failed = 0
		})
	}
	wg.Wait()
	return m, names, context.Cause(ctx)
}

// sums returns those of the keys whose entries a remote has.
func sums(ctx context.Context, t Tier) (map[key.Digest]bool, error) {
	all := make(map[key.Digest]bool)
	for o, err := range t.Objects.List(ctx, t.Store.Prefix()) {
		if err != nil {
			return all, err
		}
		name := o.Name[strings.LastIndexByte(o.Name, '/')+1:]
		if sum, err := key.ParseDigest(name); err == nil && t.Store.Name(key.Key{Sum: sum}) == o.Name {
			all[sum] = true
		}
	}
	return all, nil
}

// PullOptions say what `remote pull` gets.
type PullOptions struct {
	Selection
	Keys string // a file of keys, "-" for standard input; "": all that the filters ask for
	App  string // what it is known to use, and nothing else; "": no application
}

// Pull puts entries of the remotes into the cache, those that the first one has from there.
func Pull(ctx context.Context, c cli.Cache, o PullOptions) error {
	wanted, err := bundles.Filter(o.Filters)
	if err != nil {
		return err
	}
	if st := c.Disk.Status(); !st.On {
		return fmt.Errorf("pull: %s", st.Reason)
	}
	if o.App != "" {
		return pullApp(ctx, c, o)
	}
	var keys []key.Digest
	if o.Keys != "" {
		if keys, err = readKeys(c.In, o.Keys); err != nil {
			return err
		}
	}
	return within(c.App, o.Remote, func(chain *Chain) error {
		p := c.Progress()
		defer p.Done()
		report := []moved{}
		left := keys
		var failed error
		for i, t := range chain.Tiers {
			if failed = chain.reach(ctx, t); failed != nil {
				break
			}
			if o.Keys == "" {
				var of map[key.Digest]bool
				if of, failed = sums(ctx, t); failed != nil {
					failed = named(t, failed)
					break
				}
				left = slices.Collect(maps.Keys(of))
			}
			var m moved
			var files map[key.Digest]bool
			m, left, files, failed = pullFrom(ctx, t, c.Disk, left, wanted, o.DryRun, p)
			if failed == nil && o.Keys == "" && !o.DryRun && len(files) > 0 {
				m.Lists, failed = pullLists(ctx, t, c.Disk, files)
			}
			if report = append(report, m); failed != nil {
				failed = named(t, failed)
				break
			}
			if o.Keys != "" && len(left) == 0 && i < len(chain.Tiers)-1 {
				break
			}
		}
		p.Done()
		return write(c.App, "pulled", report, failed)
	})
}

var errLate = errors.New("given up: nothing came for half a minute")

// pullFrom gets entries of one remote, many at once, and returns the keys that it does not have, and digests of the
// header files of those that it has.
func pullFrom(
	ctx context.Context, t Tier, d *disk.Store, all []key.Digest, wanted func(store.Info) bool, dry bool, p interface {
		Counting(verb string, total int64) func(done int64)
	},
) (m moved, absent []key.Digest, files map[key.Digest]bool, err error) {
	m, files = moved{Remote: t.Name, Selected: int64(len(all)), DryRun: dry}, make(map[key.Digest]bool)
	count, done := p.Counting("pulled", int64(len(all))), int64(0)
	for few := range slices.Chunk(all, getsAtOnce) {
		within, cancel := context.WithCancel(ctx)
		// What is large comes slowly: only that nothing comes ends it.
		quiet, late := time.AfterFunc(putTimeout, cancel), false
		t.Store.FetchSums(within, few, func(sum key.Digest, e *store.Entry, err error) {
			quiet.Reset(putTimeout)
			switch {
			case errors.Is(err, remote.ErrNotFound):
				absent = append(absent, sum)
			case err != nil && within.Err() != nil:
				late = true
				m.fail(sum.String(), errLate)
			case err != nil:
				m.fail(sum.String(), err)
			case !wanted(infoOf(e)):
				m.Selected--
			default: // at once, so that few are in memory
				m.put(ctx, d, e)
				for _, u := range e.Recipe.Image.Units() {
					if len(u.Files) > 0 {
						files[sumOfFiles(u.Files)] = true
					}
				}
			}
		})
		quiet.Stop()
		cancel()
		if err := ctx.Err(); err != nil {
			return m, nil, nil, err
		}
		if late {
			return m, nil, nil, errLate
		}
		done += int64(len(few))
		count(done)
	}
	m.Absent = int64(len(absent))
	return m, absent, files, nil
}

// put puts an entry into the cache.
func (m *moved) put(ctx context.Context, d *disk.Store, e *store.Entry) {
	if m.DryRun {
		if _, err := d.Get(ctx, e.Key); err == nil {
			m.Existing++
		} else {
			m.Stored++
			m.Bytes += e.Artifact.Size()
		}
		return
	}
	switch res, err := d.Put(ctx, e); {
	case err != nil:
		m.fail(e.Key.String(), err)
	case res == store.Existing:
		m.Existing++
	default:
		m.Stored++
		m.Bytes += e.Artifact.Size()
	}
}

// infoOf describes an entry, for filters.
func infoOf(e *store.Entry) store.Info {
	i := store.Info{Key: e.Key, Device: e.Recipe.Device, Size: e.Artifact.Size(), Created: e.Artifact.Created, Cost: e.Artifact.Cost}
	for _, k := range e.Artifact.Kernels {
		i.Kernels = append(i.Kernels, k.Name)
	}
	return i
}

// readKeys reads keys, one a line as `kernstash ls --json` and `remote ls --json` write them; what
// follows a '#' or a space is a comment.
func readKeys(in io.Reader, file string) ([]key.Digest, error) {
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("--keys: %w", err)
		}
		defer f.Close()
		in = f
	}
	return parseKeys(in, file)
}

func parseKeys(in io.Reader, file string) (all []key.Digest, err error) {
	seen := make(map[key.Digest]bool)
	left := &io.LimitedReader{R: in, N: maxKeys + 1}
	lines := bufio.NewScanner(left)
	for n := 1; lines.Scan(); n++ {
		if left.N == 0 {
			return nil, fmt.Errorf("--keys %s: more than %s", file, human.Size(maxKeys))
		}
		line, _, _ := strings.Cut(lines.Text(), "#")
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == "" {
			continue
		}
		sum, err := key.ParseDigest(word)
		if err != nil {
			return nil, fmt.Errorf("--keys %s: line %d: %w", file, n, err)
		}
		if !seen[sum] {
			seen[sum] = true
			all = append(all, sum)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("--keys %s: %w", file, err)
	}
	return all, nil
}
