// Package rebuild builds again what the cache has recorded: for a driver or compiler that is new here, before
// applications ask for it, and to compare what a compiler makes now with what is stored.
package rebuild

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/entries"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/jobs"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/ledger"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/worker"
)

// PlanReport is what an earlier driver built and the present one did not, as --json writes it.
type PlanReport struct {
	Programs []ColdReport `json:"programs"` // the most valuable first
	Apps     []AppReport  `json:"apps"`     // that used them, those whose programs took longest first
	CostMS   float64      `json:"cost_ms"`  // what building all took the earlier drivers
	Size     int64        `json:"size"`     // of the earlier entries
	Unread   int          `json:"unread"`   // entries without a recipe that can be read
	GivenUp  []GivenUp    `json:"given_up"` // of these programs
}

// AppReport is what is cold of an application. A program that several have used counts for each.
type AppReport struct {
	App      string  `json:"app"`
	Programs int     `json:"programs"`
	CostMS   float64 `json:"cost_ms"`
}

// ColdReport is one of these programs.
type ColdReport struct {
	Key     string   `json:"key"`     // under which it will be
	Earlier string   `json:"earlier"` // the key of the entry of the earlier driver
	Kernels []string `json:"kernels"`
	Apps    []string `json:"apps"`   // that are known to have used it
	Device  string   `json:"device"` // as it is now
	Was     string   `json:"was"`    // as it was
	Size    int64    `json:"size"`
	CostMS  float64  `json:"cost_ms"`
}

// Plan says what Run would build, and how long that took the earlier drivers.
func Plan(ctx context.Context, c cli.Cache, app string) error {
	r, err := jobs.Rebuilds(ctx, c, app, nil)
	if err != nil {
		return fmt.Errorf("rebuild: %w", err)
	}
	defer r.Close()
	cold, unread := r.All(ctx)
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	dropped, err := givenUp(ctx, c, cold)
	if err != nil {
		return err
	}
	report := PlanReport{Programs: []ColdReport{}, Apps: []AppReport{}, Unread: unread, GivenUp: dropped}
	users, err := usersOf(ctx, c, cold)
	if err != nil {
		return err
	}
	groups := make(map[update]*PlanReport)
	for _, one := range cold {
		p := ColdReport{
			Key: one.Key.String(), Earlier: one.Entry.Key.String(), Kernels: append([]string{}, one.Entry.Kernels...),
			Apps: append([]string{}, users[one.Entry.Key]...), Device: entries.DeviceText(*one.Device), Was: entries.DeviceText(one.Entry.Device), Size: one.Entry.Size, CostMS: human.Millis(one.Entry.Cost),
		}
		u := update{p.Was, p.Device}
		if groups[u] == nil {
			groups[u] = new(PlanReport)
		}
		for _, sum := range []*PlanReport{&report, groups[u]} {
			sum.Programs = append(sum.Programs, p)
			sum.CostMS += p.CostMS
			sum.Size += p.Size
		}
		report.addApps(p)
	}
	slices.SortFunc(report.Apps, func(a, b AppReport) int { return cmp.Or(cmp.Compare(b.CostMS, a.CostMS), cmp.Compare(a.App, b.App)) })
	return c.Report(report, true, func() { c.Fold(func() { report.write(c, groups) }) })
}

// nobody stands for the applications of what nobody has used since there are records.
const nobody = "unknown"

func (report *PlanReport) addApps(p ColdReport) {
	apps := p.Apps
	if len(apps) == 0 {
		apps = []string{nobody}
	}
	for _, app := range apps {
		i := slices.IndexFunc(report.Apps, func(a AppReport) bool { return a.App == app })
		if i < 0 {
			i = len(report.Apps)
			report.Apps = append(report.Apps, AppReport{App: app})
		}
		report.Apps[i].Programs++
		report.Apps[i].CostMS += p.CostMS
	}
}

// usersOf returns the applications that are known to have used the earlier entries.
func usersOf(ctx context.Context, c cli.Cache, cold []worker.Cold) (map[key.Key][]string, error) {
	users := make(map[key.Key][]string)
	if len(cold) == 0 {
		return users, nil
	}
	l, err := ledger.Open(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("rebuild: %w", err)
	}
	defer l.Close()
	for _, one := range cold {
		e, err := l.Of(records.PlaceOf(one.Entry.Key))
		if err != nil {
			return nil, fmt.Errorf("rebuild: %w", err)
		}
		if e != nil {
			users[one.Entry.Key] = slices.Sorted(maps.Keys(e.Apps))
		}
	}
	return users, nil
}

// update is an earlier device and the one that took its place.
type update struct{ was, now string }

// write writes the plan for people: all of it, and the part of each update.
func (report *PlanReport) write(c cli.Cache, groups map[update]*PlanReport) {
	took := func(r PlanReport) string { return human.Time(time.Duration(r.CostMS * float64(time.Millisecond))) }
	for _, u := range slices.SortedFunc(maps.Keys(groups), func(a, b update) int { return cmp.Compare(groups[b].CostMS, groups[a].CostMS) }) {
		g := groups[u]
		c.Printf("%s\n", human.Printable(u.now, false))
		if u.was == u.now {
			c.Printf("  by another compiler under the same names: ")
		} else {
			c.Printf("  by %s: ", human.Printable(u.was, false))
		}
		c.Printf("%s, which took %s to build\n", human.Plural(len(g.Programs), "program"), took(*g))
		for _, p := range g.Programs[:min(len(g.Programs), maxNamed)] {
			c.Printf("    %8s  %s\n", human.Time(time.Duration(p.CostMS*float64(time.Millisecond))), human.Printable(label(p.Kernels, p.Size), false))
		}
		if more := len(g.Programs) - maxNamed; more > 0 {
			c.Printf("    and %d more\n", more)
		}
	}
	if len(report.Apps) > 0 {
		c.Printf("by application:\n")
	}
	for _, a := range report.Apps[:min(len(report.Apps), maxApps)] {
		c.Printf("    %8s  %s: %s\n", took(PlanReport{CostMS: a.CostMS}), human.Printable(a.App, false), human.Plural(a.Programs, "program"))
	}
	if more := len(report.Apps) - maxApps; more > 0 {
		c.Printf("    and %d more\n", more)
	}
	writeGivenUp(c, report.GivenUp)
	if report.Unread > 0 {
		c.Printf("%s without a recipe that can be read: not counted\n", human.Plural(report.Unread, "entry"))
	}
	if len(report.Programs) == 0 {
		c.Printf("nothing: no program is recorded of an earlier driver or compiler of a device here that the present one has not built\n")
		return
	}
	c.Printf("%s cold, %s to build; 'kernstash rebuild' builds the most valuable first\n", human.Plural(len(report.Programs), "program"), took(*report))
}

// A plan names so many programs for each device, and so many applications.
const (
	maxNamed = 5
	maxApps  = 20
)

// label is what people know a program by.
func label(kernels []string, size int64) string {
	if len(kernels) == 0 {
		return human.Size(size)
	}
	return human.Names(entries.KernelNames(kernels), 0)
}

// Report is how a rebuild went, as --json writes it.
type Report struct {
	Cold    int            `json:"cold"`    // programs that there were to build
	Built   int            `json:"built"`   // of these, and jobs that waited before
	Dropped int            `json:"dropped"` // the compiler refuses them, or crashed twice
	Kept    int            `json:"kept"`    // not possible here, or not now
	Ended   string         `json:"ended"`   // why it ended
	Left    int            `json:"left"`    // jobs that wait still
	TookMS  float64        `json:"took_ms"`
	Last    []worker.Ended `json:"last,omitempty"`
	GivenUp []GivenUp      `json:"given_up"` // of the programs that there were
}

// Run builds what an earlier driver built and the present one did not, the most valuable first. The
// worker's options say within which limits.
func Run(ctx context.Context, c cli.Cache, app string, o worker.Options, quiet bool) error {
	counts := new(stats.Counters)
	r, err := jobs.Rebuilds(ctx, c, app, counts)
	if err != nil {
		return fmt.Errorf("rebuild: %w", err)
	}
	defer r.Close()
	cold, _ := r.All(ctx)
	e := estimate{cold: make(map[string]worker.Cold, len(cold)), begun: make(map[string]int), ended: make(map[string]bool), since: time.Now()}
	for _, one := range cold {
		e.cold[one.Key.Sum.Dir()] = one
	}
	o.Once = true
	return jobs.Run(ctx, c, jobs.RunOptions{
		Options: o, Quiet: quiet, Rebuild: r, Doing: e.say,
		Report: func(st worker.Status) error {
			report := Report{
				Cold: len(cold), Built: st.Done, Dropped: st.Refused, Kept: st.Kept, Ended: st.End, Left: st.Waiting,
				TookMS: human.Millis(time.Since(e.since)), Last: st.Last,
			}
			report.GivenUp, err = givenUp(context.WithoutCancel(ctx), c, cold)
			return errors.Join(err, c.Report(report, true, func() { c.Fold(func() { report.write(c, &e) }) }))
		},
	}, counts)
}

// write says for people how it went.
func (r *Report) write(c cli.Cache, e *estimate) {
	told := make(map[string]bool)
	for _, of := range r.GivenUp {
		told[of.job] = true
	}
	for _, last := range slices.Backward(r.Last) {
		if reason := strings.TrimSpace(last.Reason); reason != "" && !told[last.Job] {
			c.Printf("%s  %s: %s\n", last.State, e.name(last.Job), human.Printable(reason, false))
		}
	}
	writeGivenUp(c, r.GivenUp)
	c.Printf("%d built in %s; %d dropped, %d not possible here, of %s\n", r.Built, human.Time(time.Since(e.since)),
		r.Dropped, r.Kept, human.Plural(r.Cold, "program"))
	if r.Left > 0 {
		c.Printf("%s left (%s): the next 'kernstash rebuild' goes on\n", human.Plural(r.Left, "job"), r.Ended)
	}
}

// estimate says how long a rebuild goes on, by what the programs took the earlier driver and how much longer, or
// shorter, those took that were built already.
type estimate struct {
	cold  map[string]worker.Cold // by the name of the job, without its kind
	begun map[string]int         // which of them, in the order in which they were begun
	ended map[string]bool
	since time.Time
}

func (e *estimate) say(st worker.Status) string {
	for _, last := range st.Last {
		if last.At.After(e.since) {
			e.ended[program(last.Job)] = true
		}
	}
	if st.Building == "" {
		return ""
	}
	at := program(st.Building)
	if e.begun[at] != 0 {
		return "" // it was said: of two at once, this one takes longer
	}
	e.begun[at] = len(e.begun) + 1
	var left, done time.Duration
	for job, one := range e.cold {
		if e.ended[job] {
			done += one.Entry.Cost
		} else {
			left += one.Entry.Cost
		}
	}
	if done > 0 {
		left = time.Duration(float64(left) * float64(time.Since(e.since)) / float64(done))
	}
	return fmt.Sprintf("%d of %d: %s, about %s left", min(e.begun[at], len(e.cold)), len(e.cold), e.name(st.Building), human.Time(left.Round(time.Second)))
}

// program is the part of a job's name that tells what is built.
func program(job string) string { sum, _, _ := strings.Cut(job, "."); return sum }

// name is what people know a job's program by.
func (e *estimate) name(job string) string {
	if one, ok := e.cold[program(job)]; ok {
		return human.Printable(label(one.Entry.Kernels, one.Entry.Size), false)
	}
	return job
}
