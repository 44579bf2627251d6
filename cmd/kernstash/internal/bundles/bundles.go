// Package bundles is `kernstash bundle`: it makes bundles of caches, looks into them and imports
// them.
package bundles

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/bundle"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/ledger"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/trust"
)

// Filters are the names that --filter takes.
var Filters = []string{"api", "device", "driver", "kernel", "key", "platform"}

// Filter returns what reports whether an entry is one that all names ask for; of what one name asks
// for more than once any will do. Upper and lower case are the same.
func Filter(words []string) (func(store.Info) bool, error) {
	wanted := make(map[string][]string)
	for _, w := range words {
		name, text, ok := strings.Cut(w, "=")
		if !ok || !slices.Contains(Filters, name) || text == "" {
			return nil, cli.Usagef("--filter %s: want NAME=TEXT, NAME being one of %s", w, strings.Join(Filters, ", "))
		}
		wanted[name] = append(wanted[name], strings.ToLower(text))
	}
	return func(i store.Info) bool {
		has := map[string][]string{
			"api": {i.Device.API}, "device": {i.Device.Name}, "driver": {i.Device.Driver}, "platform": {i.Device.Platform}, "kernel": i.Kernels,
		}
		for name, texts := range wanted {
			of := func(value string) bool {
				value = strings.ToLower(value)
				return slices.ContainsFunc(texts, func(text string) bool {
					return strings.Contains(value, text) && (name != "key" || strings.HasPrefix(value, text))
				})
			}
			if name == "key" {
				has[name] = []string{i.Key.String()}
			}
			if !slices.ContainsFunc(has[name], of) {
				return false
			}
		}
		return true
	}, nil
}

// CreateOptions are those of `bundle create`.
type CreateOptions struct {
	Filters       []string
	App           string // whose entries; "": all
	WithoutSource bool
	Sign          string // a file with a private key; "": it is not signed
	Harvest       []string
	By            string // our version
}

// created is what `bundle create --json` writes.
type created struct {
	Bundle  string           `json:"bundle"`
	Entries int              `json:"entries"`
	Devices int              `json:"devices"`
	Bytes   int64            `json:"bytes"` // of the files in it
	Size    int64            `json:"size"`  // of the bundle
	Signer  string           `json:"signer,omitempty"`
	Caches  []bundle.Harvest `json:"harvested,omitempty"`
	Waiting int              `json:"waiting,omitempty"` // jobs of a worker, whose results it lacks
	Skipped []skipped        `json:"skipped,omitempty"`
}

type skipped struct {
	Entry string `json:"entry"`
	Why   string `json:"why"`
}

func skippedOf(all []bundle.Skipped) (out []skipped) {
	for _, s := range all {
		out = append(out, skipped{s.Location, s.Err.Error()})
	}
	return out
}

func writeSkipped(a *cli.App, all []skipped) {
	for _, s := range all {
		fmt.Fprintf(a.Err, "kernstash: left out: %s: %s\n", human.Printable(s.Entry, false), human.Printable(s.Why, false))
	}
}

// Create writes a bundle of the directories, or of the cache that the settings name, to a file.
func Create(ctx context.Context, a *cli.App, dirs []string, to string, o CreateOptions) error {
	wanted, err := Filter(o.Filters)
	if err != nil {
		return err
	}
	if o.App != "" && len(dirs) > 0 {
		return cli.Usagef("bundle create: --app is of the cache: give no directory")
	}
	p := a.Progress()
	defer p.Done()
	options := bundle.Options{By: o.By, Select: wanted, WithoutSource: o.WithoutSource}
	if o.Sign != "" {
		if options.Sign, err = privateKey(o.Sign); err != nil {
			return err
		}
	}
	count := p.Counting("taken", 0)
	options.Progress = func(n int) { count(int64(n)) }
	var from []*disk.Store
	defer func() {
		for _, d := range from {
			_ = d.Close()
		}
	}()
	root := ""
	if len(dirs) == 0 {
		c, err := a.OpenCache()
		if err != nil {
			return err
		}
		from, root = append(from, c.Disk), c.Settings.Dir
		if options.Select, err = usedBy(ctx, c, o.App, wanted); err != nil {
			return err
		}
	} else if s, err := a.Settings(); err == nil {
		root = s.Dir
	}
	if options.Harvest, err = harvests(o.Harvest, root); err != nil {
		return err
	}
	for _, dir := range dirs {
		if _, err := os.Stat(dir); err != nil {
			return fmt.Errorf("create bundle: %w", err)
		}
		from = append(from, disk.New(disk.Options{Dir: dir, ReadOnly: true, KeepAccess: true}))
	}
	for _, d := range from {
		if st := d.Status(); !st.On {
			return fmt.Errorf("create bundle: %s: %s", d.Dir(), st.Reason)
		} else if !st.Exists && (len(dirs) > 0 || len(options.Harvest) == 0) {
			return fmt.Errorf("create bundle: there is no cache in %s", d.Dir())
		}
	}
	var m *bundle.Manifest
	var left []bundle.Skipped
	size, err := replace(to, func(w *os.File) error {
		m, left, err = bundle.Create(ctx, from, options, w)
		if errors.Is(err, bundle.ErrEmpty) {
			err = fmt.Errorf("%w; 'kernstash ls' lists what there is", err)
		}
		return err
	})
	if err != nil {
		return err
	}
	p.Done()
	r := created{to, len(m.Entries), len(m.Devices), m.Size(), size, signer(options.Sign), m.Harvests, 0, skippedOf(left)}
	writeSkipped(a, r.Skipped)
	for _, d := range from {
		jobs, _ := spool.List(ctx, d) // what cannot be read is no job
		for i := range jobs {
			if jobs[i].Kind() != spool.Upload {
				r.Waiting++
			}
		}
	}
	if r.Waiting > 0 {
		fmt.Fprintf(a.Err, "kernstash: without %s of a worker: 'kernstash worker run --once' does them\n", human.Plural(r.Waiting, "job"))
	}
	return a.Report(r, true, func() {
		text := fmt.Sprintf("%s: %s of %s, %s, compressed to %s", human.Printable(to, false), human.Plural(r.Entries, "entry"),
			human.Plural(r.Devices, "device"), human.Size(r.Bytes), human.Size(size))
		if r.Signer != "" {
			text += ", signed by " + r.Signer
		}
		a.Printf("%s", human.WrapLines(text+"\n", 2, a.Terminal().Lines))
		writeCaches(a, r.Caches)
	})
}

// usedBy returns what reports whether an entry is one that an application used, as far as that was recorded, and that is
// wanted besides.
func usedBy(ctx context.Context, c cli.Cache, app string, wanted func(store.Info) bool) (func(store.Info) bool, error) {
	if app == "" {
		return wanted, nil
	}
	keys, err := ledger.Keys(ctx, c, app)
	if err != nil {
		return nil, err
	}
	used := make(map[key.Key]bool, len(keys))
	for _, k := range keys {
		used[k] = true
	}
	return func(i store.Info) bool { return used[i.Key] && wanted(i) }, nil
}

// writeCaches says what was harvested.
func writeCaches(a *cli.App, all []bundle.Harvest) {
	for _, h := range all {
		a.Printf("  %s: %s, %s", h.Name, human.Plural(h.Files, "file"), human.Size(h.Bytes))
		if h.Pickles {
			a.Printf(", with pickles")
		}
		for _, v := range h.Variables {
			if v.Value == "" {
				a.Printf(", for %s", v.Name)
			}
		}
		a.Printf("\n")
	}
}

func signer(k ed25519.PrivateKey) string {
	if k == nil {
		return ""
	}
	return trust.Fingerprint(k.Public().(ed25519.PublicKey))
}

// replace writes a file, which appears complete or not at all, and returns its size. Where the name
// is a link what it leads to is replaced.
func replace(name string, write func(*os.File) error) (size int64, err error) {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return 0, fmt.Errorf("write bundle: %s is there, and no regular file", name)
	}
	// Who may read it is as for any new file.
	temporary := filepath.Join(filepath.Dir(name), fmt.Sprintf(".%s-%d", filepath.Base(name), rand.Uint64()))
	f, err := os.OpenFile(temporary, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return 0, fmt.Errorf("write bundle: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temporary)
		}
	}()
	err = write(f)
	if err == nil {
		var info fs.FileInfo
		if info, err = f.Stat(); err == nil {
			size = info.Size()
		}
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(temporary, name)
	}
	return size, err
}

// Open opens a bundle: a file, or a directory that holds one. The function gives it back.
// Unless trusted is empty, one of these keys must have signed it.
func Open(name string, trusted []ed25519.PublicKey) (r *bundle.Reader, closed func(), err error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, nil, fmt.Errorf("open bundle: %w", err)
	}
	if info.IsDir() {
		r, err = bundle.OpenDir(name, trusted)
		return r, func() {}, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, fmt.Errorf("open bundle: %w", err)
	}
	if r, err = bundle.NewReader(f, trusted); err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, func() { r.Close(); f.Close() }, nil
}

// imported is what `bundle import --json` writes.
type imported struct {
	Into     string    `json:"into"`
	Layer    bool      `json:"layer"` // it was unpacked as one
	Stored   int       `json:"stored"`
	Existing int       `json:"existing"`
	Skipped  []skipped `json:"skipped,omitempty"`
}

// Import puts what a bundle holds into the cache, or, with a directory, unpacks it there as a layer.
func Import(ctx context.Context, a *cli.App, name, dir string, trust []string) error {
	s, err := a.Settings()
	if err != nil {
		return err
	}
	trusted, err := Trusted(s, trust)
	if err != nil {
		return err
	}
	r, closed, err := Open(name, trusted)
	if err != nil {
		return err
	}
	defer closed()
	if len(r.Harvests) > 0 {
		fmt.Fprintln(a.Err, "kernstash: for the caches of other tools in it: kernstash bundle restore")
	}
	if dir != "" {
		if dir, err = filepath.Abs(dir); err != nil {
			return fmt.Errorf("import bundle: %w", err)
		}
		if err := r.Extract(ctx, dir); err != nil {
			return err
		}
		return a.Report(imported{Into: dir, Layer: true, Stored: len(r.Entries)}, true, func() {
			text := fmt.Sprintf("unpacked %s into %s: KERNSTASH_LAYERS=%[2]s has programs use it\n", human.Plural(len(r.Entries), "entry"), human.Printable(dir, false))
			a.Printf("%s", human.WrapLines(text, 2, a.Terminal().Lines))
		})
	}
	if s.Dir == "" {
		return cli.ErrNoDirectory
	}
	to := disk.New(cli.DiskOptions(s))
	p := a.Progress()
	count := p.Counting("imported", int64(len(r.Entries)))
	done, err := r.Import(ctx, to, func(n int) { count(int64(n)) })
	p.Done()
	if closeErr := to.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	rep := imported{s.Dir, false, done.Stored, done.Existing, skippedOf(done.Skipped)}
	writeSkipped(a, rep.Skipped)
	return a.Report(rep, len(rep.Skipped) == 0, func() {
		a.Printf("imported %s into %s, %d were there\n", human.Plural(rep.Stored, "entry"), human.Printable(s.Dir, false), rep.Existing)
	})
}
