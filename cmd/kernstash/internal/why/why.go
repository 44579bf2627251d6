// Package why says why programs were compiled, by what processes recorded, and erases that.
package why

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/entries"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/jobs"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/ledger"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/timeline"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// Options say which misses are meant.
type Options struct {
	Key string // that their keys begin with; "": all
	App string // whose; "": anybody's
	All bool   // of 30 days, and all that is known of each

	Last bool // of the last run
}

// brief reports whether each miss is one line.
func (o Options) brief() bool { return !o.All && o.Key == "" && o.App == "" }

// shown is how many misses are printed, unless all are.
const shown = 20

// missed is a program that was missed, once or more often for the same reason.
type missed struct {
	Place   records.Place `json:"-"`
	Key     string        `json:"key,omitempty"` // "": it cannot be cached
	App     string        `json:"app"`
	At      time.Time     `json:"at"` // the last time
	Times   int           `json:"times"`
	CostMS  float64       `json:"cost_ms"` // of all times
	Device  string        `json:"device,omitempty"`
	API     string        `json:"api,omitempty"`
	Reason  string        `json:"reason"`
	Nearest string        `json:"nearest,omitempty"` // what the nearest entry differs in
	Was     string        `json:"was,omitempty"`     // evicted, damaged, never seen, …
	Gone    time.Time     `json:"gone,omitzero"`     // when it was evicted, or removed
	Unbuilt string        `json:"unbuilt,omitempty"` // of what was not kept: why no worker has built it
	entries.LabelReport

	label string // as it was recorded
}

// Print prints misses, those that cost most first.
func Print(ctx context.Context, c cli.Cache, o Options) error {
	l, err := ledger.Open(ctx, c)
	if err != nil {
		return err
	}
	defer l.Close()
	run, err := timeline.ReadLast(c.Disk)
	switch {
	case o.Last && err != nil:
		return fmt.Errorf("why: %w", err)
	case !o.Last && (err != nil || !o.brief() || missedSince(l, run)):
		run = nil
	}
	o.Last = run != nil
	all, err := gather(ctx, l, c.Disk, o, run)
	if err != nil {
		return err
	}
	if c.JSON {
		return c.WriteJSON(append([]*missed{}, all...)) // of none, too: null is no list in JSON
	}
	if len(all) == 0 {
		c.Fold(func() { c.Printf("%s\n", o.nothing(l)) })
		return nil
	}
	print := all
	if !o.All {
		print = all[:min(len(all), shown)]
	}
	now := time.Now()
	width := c.Terminal().Lines
	for _, m := range print {
		if o.brief() {
			c.Printf("%s\n", m.line(now, !o.Last, width))
			continue
		}
		c.Printf("%s", human.WrapBehind(m.head(now, true), m.what(), 43, width))
		c.Printf("%s", human.WrapBehind(strings.Repeat(" ", 14), human.Printable(m.explain(now), false), 14, width))
	}
	if len(print) < len(all) {
		c.Printf("and %d more: --all\n", len(all)-len(print))
	}
	return nil
}

// head is what the first line of a miss begins with.
func (m *missed) head(now time.Time, when bool) string {
	key := cmp.Or(m.Key, "–")
	head := fmt.Sprintf("%-12s  %9s  ", key[:min(len(key), 12)], human.Time(m.cost()))
	if when {
		head += fmt.Sprintf("%-14s  ", human.Age(m.At, now))
	}
	return head
}

// what names the application and the kernels.
func (m *missed) what() string {
	what := m.App
	if m.label != "" {
		what += ": " + entries.Label(m.label)
	}
	if m.Times > 1 {
		what += fmt.Sprintf(" (%d times)", m.Times)
	}
	return human.Printable(what, false)
}

// line is a miss in one line, cut to a width; 0: it is as long as it is. The reason gets most of it, and first
// says in what the nearest entry differs.
func (m *missed) line(now time.Time, when bool, width int) string {
	head, what, why := m.head(now, when), m.what(), m.explain(now)
	if near := m.near(); near != "" && reason.Named(m.Reason) == reason.MissAbsent {
		why = near
	}
	why = human.Printable(why, false)
	if width == 0 {
		return head + what + "  " + why
	}
	left := width - utf8.RuneCountInString(head)
	what = human.Clip(what, max(left-2-utf8.RuneCountInString(why), left/3))
	return human.Clip(head+what+"  "+why, width)
}

// nothing says why no miss is printed.
func (o Options) nothing(l *ledger.Ledger) string {
	if o.Last && o.brief() {
		return "the last run missed nothing; 'kernstash why --all' has what was compiled before"
	}
	text := "no miss"
	if o.Key != "" {
		text += " of key " + o.Key
	}
	if o.App != "" {
		text += " of " + human.Printable(o.App, false)
	}
	if o.Last {
		text += " of the last run"
	}
	text += " is recorded"
	names, _ := l.Applications() // what cannot be read stays unsaid
	switch {
	case o.App != "" && len(names) > 0 && !slices.Contains(names, o.App):
		text += "; applications that are known: " + human.Printable(human.Names(names, 0), false)
	case o.Key != "" || o.App != "" || o.Last:
		text += "; 'kernstash why --all' has those that are"
	}
	return text
}

// Miss is a program that was missed, once or more often for the same reason, in words.
type Miss struct {
	Place                             records.Place // zero: it cannot be cached
	Key, App, Kernels, Device, Reason string
	At                                time.Time // the last time
	Times                             int
	Cost                              time.Duration // of all times
}

// Misses returns the misses that are meant, those that cost most first.
func Misses(ctx context.Context, l *ledger.Ledger, d *disk.Store, o Options) ([]Miss, error) {
	found, err := gather(ctx, l, d, o, nil)
	now := time.Now()
	all := make([]Miss, len(found))
	for i, m := range found {
		all[i] = Miss{m.Place, m.Key, m.App, entries.Label(m.label), m.Device, m.explain(now), m.At, m.Times, m.cost()}
	}
	return all, err
}

// cost returns what it took to build, all times together.
func (m *missed) cost() time.Duration { return time.Duration(m.CostMS * float64(time.Millisecond)) }

// gather returns the misses that are meant, those that cost most first: of a run; nil: of 30 days.
func gather(ctx context.Context, l *ledger.Ledger, d *disk.Store, o Options, run *timeline.Run) ([]*missed, error) {
	type same struct{ key, app, reason, nearest, was, kernels string }
	known := make(map[same]*missed)
	var all []*missed
	home, _ := os.UserHomeDir()
	unbuilt := jobs.Unbuilt(ctx, d, time.Now())
	ofRun := func(*ledger.Missed) bool { return true }
	if run != nil {
		ofRun = missedBy(run)
	}
	err := l.Misses(func(m *ledger.Missed) bool {
		if !ofRun(m) {
			return true
		}
		sum := ""
		if !m.Key.IsZero() {
			sum = m.Key.Key.String()
		}
		if o.App != "" && m.App != o.App || o.Key != "" && !strings.HasPrefix(sum, strings.ToLower(o.Key)) {
			return true
		}
		s := same{sum, m.App, m.Reason, m.Nearest, m.Was, m.Label}
		if reason.Named(m.Reason) != reason.MissAbsent { // what it was before is no reason then
			s.was = ""
		}
		of := known[s]
		if of == nil {
			of = &missed{
				Place: m.Key.Place, Key: sum, App: m.App, At: time.Unix(m.At, 0).UTC(), label: m.Label, LabelReport: entries.ReportLabel(m.Label), Device: m.Device, API: m.API,
				Reason: atHome(m.Reason, home), Nearest: atHome(m.Nearest, home), Was: m.Was,
			}
			if m.WasAt > 0 {
				of.Gone = time.Unix(m.WasAt, 0).UTC()
			}
			if m.Was == ledger.NotKept {
				of.Unbuilt = unbuilt[m.Key.Key.Short()]
			}
			known[s] = of
			all = append(all, of)
		}
		of.Times++
		of.CostMS += human.Millis(time.Duration(m.Cost) * time.Microsecond)
		return true
	})
	slices.SortStableFunc(all, func(a, b *missed) int { return cmp.Compare(b.CostMS, a.CostMS) })
	return all, err
}

// missedSince reports whether anybody missed anything after a run: a process of a session that is enabled belongs to
// no run. Where that cannot be told, it does.
func missedSince(l *ledger.Ledger, run *timeline.Run) bool {
	since := false
	err := l.Misses(func(m *ledger.Missed) bool {
		since = m.At > ended(run)
		return !since
	})
	return since || err != nil
}

// ended returns the second in which a run ended.
func ended(run *timeline.Run) int64 {
	return run.Begun.Add(time.Duration(run.Millis * float64(time.Millisecond))).Unix()
}

// missedBy returns what reports whether a miss is one of a run: by its time, which is in seconds, and its key.
func missedBy(run *timeline.Run) func(*ledger.Missed) bool {
	begun, ended := run.Begun.Unix(), ended(run)
	keys := make(map[string]bool) // "": of what cannot be cached
	for _, p := range run.Programs {
		if p.Outcome == runlog.Compiled || p.Outcome == runlog.Failed {
			keys[p.Key] = true
		}
	}
	return func(m *ledger.Missed) bool {
		short := ""
		if !m.Key.IsZero() {
			short = m.Key.Key.Short()
		}
		return m.At >= begun && m.At <= ended && keys[short]
	}
}

// cheap is what the reason of a program begins with that took less than the setting min-build-time to build.
var cheap, _, _ = strings.Cut(reason.Uncacheable{Code: reason.NotCacheableCheap}.String(), " (")

// explain says why it was compiled.
func (m *missed) explain(now time.Time) string {
	named := reason.Named(m.Reason)
	text := m.Reason
	switch {
	case named == reason.MissAbsent && !m.Gone.IsZero():
		text = m.Was + " " + human.Age(m.Gone, now)
	case named == reason.MissAbsent && m.Was != "":
		text = m.Was
		if m.Unbuilt != "" {
			text += "; " + m.Unbuilt
		}
	case named != 0:
		text = named.Words()
	case strings.HasPrefix(m.Reason, cheap):
		text += fmt.Sprintf("; it was built in %s: a lower min-build-time keeps it ('kernstash config' says who set that)", human.Time(m.cost()/time.Duration(m.Times)))
	}
	if near := m.near(); near != "" {
		text += "; the nearest entry: " + near
	}
	return text
}

// near returns in what the nearest entry differs, where that says why it was compiled; else "".
func (m *missed) near() string {
	if m.Nearest == store.NothingNear || m.Was != ledger.NeverSeen && reason.Named(m.Reason) == reason.MissAbsent {
		return ""
	}
	return m.Nearest
}

// atHome shortens paths below the user's directory.
func atHome(text, home string) string {
	if len(home) < 2 {
		return text
	}
	return strings.ReplaceAll(text, home+"/", "~/")
}

// Forget erases what was recorded: all, or what is of an application. On a terminal it asks first, unless yes is set.
func Forget(ctx context.Context, c cli.Cache, app string, yes bool) error {
	what := "everything that was recorded"
	if app != "" {
		what = "what was recorded of " + app
	}
	if !yes {
		agreed, err := entries.Ask(ctx, c.App, fmt.Sprintf("forget %s in %s?", what, c.Settings.Dir))
		if err != nil || !agreed {
			return err
		}
	}
	var report struct {
		App     string `json:"app,omitempty"`
		Entries int    `json:"entries"` // that are not known any more to be used by it
		Misses  int    `json:"misses"`
	}
	report.App = app
	var err error
	if app == "" {
		err = ledger.Forget(ctx, c.Disk)
	} else {
		report.Entries, report.Misses, err = ledger.ForgetApplication(ctx, c.Disk, app)
	}
	if gone := os.Remove(timeline.LastOf(c.Disk)); err == nil && !errors.Is(gone, fs.ErrNotExist) {
		err = gone
	}
	if err != nil {
		return err
	}
	return c.Report(report, true, func() {
		if app == "" {
			c.Printf("forgot %s; the entries stay\n", what)
			return
		}
		c.Printf("forgot %s: its use of %s, and %s; the entries stay\n", human.Printable(what, false),
			human.Plural(report.Entries, "entry"), human.Plural(report.Misses, "miss"))
	})
}
