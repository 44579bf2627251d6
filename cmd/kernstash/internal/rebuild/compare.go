package rebuild

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/disassembly"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/entries"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/worker"
)

// MaxCompared bounds the entries of one Compare: they are jobs of one spool.
const MaxCompared = spool.MaxJobs

// Verdict says what a program that was built again is like, compared with what is stored.
type Verdict string

// The verdicts.
const (
	Equal     Verdict = "equal"     // byte by byte
	SameCode  Verdict = "same code" // all machine code is equal; other parts differ
	Different Verdict = "different"
	NotBuilt  Verdict = "not built"
)

// CompareReport is what building entries again found, as --json writes it.
type CompareReport struct {
	Entries   []ComparedReport `json:"entries"`
	Equal     int              `json:"equal"`
	SameCode  int              `json:"same_code"`
	Different int              `json:"different"`
	NotBuilt  int              `json:"not_built"`
	Elsewhere int64            `json:"elsewhere"` // entries of devices, drivers or compilers that are not here, or that no worker builds
	TookMS    float64          `json:"took_ms"`
}

// ComparedReport is one entry.
type ComparedReport struct {
	Key     string   `json:"key"`
	Kernels []string `json:"kernels"`
	Device  string   `json:"device"`
	Verdict Verdict  `json:"verdict"`
	Reason  string   `json:"reason,omitempty"` // of NotBuilt; of the others, what differs
}

// Compare builds n entries again, taken by chance, in a cache of its own that goes with it, and says whether the
// compiler makes what is stored. It changes nothing of the cache, and nothing that it reads counts as used.
func Compare(ctx context.Context, c cli.Cache, n int, o worker.Options) error {
	begun := time.Now()
	old := disk.New(disk.Options{Dir: c.Disk.Dir(), ReadOnly: true})
	defer old.Close()
	p := c.Progress()
	defer p.Done()
	chosen, elsewhere, err := choose(ctx, old, n, p.Counting("listed", c.Disk.Status().Entries))
	if err != nil {
		return fmt.Errorf("verify --rebuild: %w", err)
	}
	dir, err := os.MkdirTemp("", "kernstash-verify-")
	if err != nil {
		return fmt.Errorf("verify --rebuild: %w", err)
	}
	defer os.RemoveAll(dir)
	scratch := disk.New(disk.Options{Dir: dir})
	defer scratch.Close()

	report := CompareReport{Entries: []ComparedReport{}, Elsewhere: elsewhere}
	reasons := make(map[string]string) // by the names of jobs
	for _, info := range chosen {
		job, err := again(ctx, old, info)
		if err == nil {
			_, err = spool.Add(ctx, scratch, job, nil)
		}
		if err != nil {
			reasons[jobName(info.Key)] = err.Error()
		}
	}
	if o.Command, err = command(scratch); err != nil {
		return fmt.Errorf("verify --rebuild: %w", err)
	}
	o.Store, o.Once, o.Budget = scratch, true, 1<<62
	o.Progress = func(st worker.Status) {
		if st.Building != "" {
			p.Say("%d of %d", min(st.Done+st.Refused+st.Kept+1, len(chosen)), len(chosen))
		}
		if len(st.Last) > 0 {
			reasons[st.Last[0].Job] = cmp.Or(strings.TrimSpace(st.Last[0].Reason), st.Last[0].State)
		}
	}
	if _, err := worker.Run(ctx, o); err != nil {
		return fmt.Errorf("verify --rebuild: %w", err)
	}
	p.Done()
	for _, info := range chosen {
		one := ComparedReport{Key: info.Key.String(), Kernels: append([]string{}, info.Kernels...), Device: entries.DeviceName(info)}
		was, err := old.Get(ctx, info.Key)
		now, built := scratch.Get(ctx, info.Key)
		switch {
		case err != nil: // evicted meanwhile
			one.Verdict, one.Reason = NotBuilt, err.Error()
		case built != nil:
			one.Verdict, one.Reason = NotBuilt, cmp.Or(reasons[jobName(info.Key)], "the worker did not come to it")
		default:
			one.Verdict, one.Reason = compare(was.Artifact, now.Artifact)
		}
		*report.count(one.Verdict)++
		report.Entries = append(report.Entries, one)
	}
	report.TookMS = human.Millis(time.Since(begun))
	return c.Report(report, report.Different == 0, func() { c.Fold(func() { report.write(c) }) })
}

func (r *CompareReport) count(v Verdict) *int {
	switch v {
	case Equal:
		return &r.Equal
	case SameCode:
		return &r.SameCode
	case Different:
		return &r.Different
	}
	return &r.NotBuilt
}

func (r *CompareReport) write(c cli.Cache) {
	type tally struct{ code, differ, all int }
	compilers := make(map[string]*tally)
	for _, e := range r.Entries {
		if e.Verdict != Equal {
			c.Printf("%-9s  %s  %s", e.Verdict, e.Key[:min(16, len(e.Key))], human.Printable(label(e.Kernels, 0), false))
			if e.Reason != "" {
				c.Printf(": %s", human.Printable(e.Reason, false))
			}
			c.Printf("\n")
		}
		if e.Verdict == NotBuilt {
			continue
		}
		if compilers[e.Device] == nil {
			compilers[e.Device] = new(tally)
		}
		compilers[e.Device].all++
		if e.Verdict != Equal {
			compilers[e.Device].differ++
		}
		if e.Verdict == Different {
			compilers[e.Device].code++
		}
	}
	c.Printf("%d built again: %d equal, %d with the same code, %d different; %d not built\n",
		r.Equal+r.SameCode+r.Different, r.Equal, r.SameCode, r.Different, r.NotBuilt)
	for _, device := range slices.Sorted(maps.Keys(compilers)) {
		t, where := compilers[device], "outside of code"
		if t.code > 0 {
			where = "in its code"
		}
		if t.differ > 0 {
			c.Printf("not deterministic, %s: %d of %d: the compiler of %s\n", where, t.differ, t.all, human.Printable(device, false))
		}
	}
	if r.Elsewhere > 0 {
		c.Printf("%s of other devices, drivers or compilers, or of such as no worker builds for, left out\n", human.Plural(r.Elsewhere, "entry"))
	}
}

// choose returns n entries that can be built here, taken by chance, and how many cannot.
func choose(ctx context.Context, s *disk.Store, n int, progress func(int64)) (chosen []store.Info, elsewhere int64, err error) {
	devices, err := runtimes.Built(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("which devices are here: %w", err)
	}
	here := make(map[key.Digest]bool)
	for i := range devices {
		here[devices[i].Digest()] = true
	}
	seen := int64(0)
	for info, err := range s.List(ctx) {
		if err != nil {
			return nil, 0, err
		}
		progress(seen + elsewhere)
		if info.Bad != nil || !here[info.Device.Digest()] {
			elsewhere++
			continue
		}
		seen++ // each of those seen is among the n equally likely
		if len(chosen) < n {
			chosen = append(chosen, info)
		} else if at := rand.Int64N(seen); at < int64(n) {
			chosen[at] = info
		}
	}
	slices.SortFunc(chosen, func(a, b store.Info) int { return strings.Compare(a.Location, b.Location) })
	return chosen, elsewhere, ctx.Err()
}

// again returns the job of building an entry again, with the header files that the cache has of it.
func again(ctx context.Context, s *disk.Store, info store.Info) (spool.Job, error) {
	recipe, err := s.Recipe(ctx, info.Key)
	if err != nil {
		return spool.Job{}, err
	}
	e, err := s.Get(ctx, info.Key)
	if err != nil {
		return spool.Job{}, err
	}
	j := spool.Job{
		Kind: spool.Rebuild, Recipe: recipe, Variants: e.Artifact.Variants, Cost: e.Artifact.Cost,
		Environment: spool.Take(os.Environ(), recipe, ""), Headers: make(map[key.Digest][]byte),
	}
	for _, u := range recipe.Image.Units() {
		for _, f := range u.Files {
			if content, err := s.GetBlob(ctx, store.Headers, f.Digest); err == nil {
				j.Headers[f.Digest] = content
			}
		}
	}
	return j, nil
}

func jobName(k key.Key) string { return k.Sum.Dir() + "." + string(spool.Rebuild) }

func command(s *disk.Store) ([]string, error) {
	self, err := os.Executable()
	return worker.BuilderCommand(self, s, nil), err
}

// compare compares the code of two artifacts, form by form.
func compare(was, now *store.Artifact) (Verdict, string) {
	verdict, reason := Equal, ""
	find := func(a *store.Artifact, f store.Form) *store.Binary {
		if i := slices.IndexFunc(a.Binaries, func(b store.Binary) bool { return b.Form == f }); i >= 0 {
			return &a.Binaries[i]
		}
		return nil
	}
	for _, a := range was.Binaries {
		b := find(now, a.Form)
		switch {
		case b == nil:
			return Different, fmt.Sprintf("there is no %v form any more", a.Form)
		case bytes.Equal(a.Data, b.Data):
			continue
		}
		section, err := differentCode(a.Data, b.Data)
		switch {
		case err != nil:
			return Different, fmt.Sprintf("%d and %d bytes, which are not compared by sections: %v", len(a.Data), len(b.Data), err)
		case section != "":
			return Different, "section " + section
		}
		verdict, reason = SameCode, "outside of code"
	}
	if verdict == Equal && !slices.Equal(was.Variants, now.Variants) {
		return Different, "ready for other launches"
	}
	return verdict, reason
}

// differentCode returns the name of the first section with code that two binaries do not have alike, "" if there is none.
func differentCode(a, b []byte) (string, error) {
	was, err := codeSections(a)
	if err != nil {
		return "", err
	}
	now, err := codeSections(b)
	if err != nil {
		return "", err
	}
	for i, s := range was {
		if i >= len(now) || s.name != now[i].name || !bytes.Equal(s.data, now[i].data) {
			return s.name, nil
		}
	}
	if len(now) > len(was) {
		return now[len(was)].name, nil
	}
	return "", nil
}

// section is a section with code.
type section struct {
	name string
	data []byte
}

var errNoCode = errors.New("there is no ELF file with code in it")

// codeSections returns the sections with code of the ELF files that a binary is (NVIDIA's, Intel's) or holds (PoCL's),
// sorted.
func codeSections(b []byte) (all []section, err error) {
	for _, f := range disassembly.Files(b) {
		for _, s := range f.Sections {
			if s.Flags&elf.SHF_EXECINSTR == 0 && !strings.HasPrefix(s.Name, ".text") || s.Type == elf.SHT_NOBITS {
				continue
			}
			data, err := s.Data()
			if err != nil {
				return nil, fmt.Errorf("section %s: %w", s.Name, err)
			}
			all = append(all, section{s.Name, data})
		}
	}
	if len(all) == 0 {
		return nil, errNoCode
	}
	slices.SortFunc(all, func(a, b section) int {
		return cmp.Or(strings.Compare(a.name, b.name), bytes.Compare(a.data, b.data))
	})
	return all, nil
}
