// Package scoreboard says in a few lines whether a cache is on, what it saved, whom, and how full it is.
package scoreboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/entries"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/launch"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/ledger"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/session"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/volume"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
)

// Board is the scoreboard of a cache. All of it is looked up: no entry is looked at.
type Board struct {
	On    bool     `json:"on"`
	By    string   `json:"by"` // what gives applications the cache: session, environment, run; or the setting that switches it off
	Mode  string   `json:"mode"`
	Today Period   `json:"today"`
	Week  Period   `json:"week"` // the last seven days, today included
	All   Period   `json:"all"`  // since the counts were set to zero
	Apps  []App    `json:"apps"` // who saved most first
	Days  []Day    `json:"days"` // of a year, those on which anything was recorded
	Last  *Problem `json:"problem,omitempty"`

	Status   disk.Status    `json:"-"`
	Counts   stats.Snapshot `json:"-"`
	recorded bool           // the settings have processes record
}

// Period is what was in a time.
type Period struct {
	Hits        int64   `json:"hits"`   // programs that were loaded
	Misses      int64   `json:"misses"` // programs that were compiled
	HitRate     float64 `json:"hit_rate"`
	SavedMS     float64 `json:"saved_ms"`
	CompilingMS float64 `json:"compiling_ms"`
}

// App is what an application did in all.
type App struct {
	App string `json:"app"`
	Period
}

// Day is what was on a day.
type Day struct {
	Date string `json:"date"`
	Period
}

// Problem is the last thing that went wrong.
type Problem struct {
	At   time.Time `json:"at,omitzero"` // zero: not known
	App  string    `json:"app,omitempty"`
	Key  string    `json:"key,omitempty"`
	Text string    `json:"text"`
}

func periodOf(s ledger.Sums) Period {
	ms := func(us int64) float64 { return human.Millis(time.Duration(us) * time.Microsecond) }
	p := Period{Hits: s.Hits, Misses: s.Misses, SavedMS: ms(s.Saved), CompilingMS: ms(s.Spent)}
	if n := s.Hits + s.Misses; n > 0 {
		p.HitRate = float64(s.Hits) / float64(n)
	}
	return p
}

// Look looks a cache's scoreboard up. A disk tier that is off is an error.
func Look(ctx context.Context, c cli.Cache, now time.Time) (b *Board, err error) {
	b = &Board{Status: c.Disk.Status(), Mode: c.Settings.Mode, Apps: []App{}, Days: []Day{}, recorded: c.Settings.Records}
	if !b.Status.On {
		return nil, errors.New(b.Status.Reason)
	}
	if b.Counts, err = c.Disk.Stats(); err != nil {
		return nil, err
	}
	b.On, b.By = by(c.Settings)
	micros := func(of stats.Counter) int64 { return b.Counts.Duration(of).Microseconds() }
	b.All = periodOf(ledger.Sums{
		Hits: b.Counts[stats.DiskHits], Misses: b.Counts[stats.DiskMisses], Saved: micros(stats.SavedTime), Spent: micros(stats.BuildTime),
	})
	if err := b.records(ctx, c, now); err != nil {
		fmt.Fprintf(c.Err, "kernstash: %s\n", human.Printable(err.Error(), false))
	}
	unkept := volume.Trouble(c.Settings.Dir)
	if b.Status.Reason != "" {
		b.Last = &Problem{Text: b.Status.Reason}
	} else if unkept != "" && b.Mode != settings.ModeReadOnly {
		b.Last = &Problem{Text: unkept}
	} else if text := entries.Trouble(b.Counts); b.Last == nil && text != "" {
		b.Last = &Problem{Text: text}
	}
	return b, nil
}

// by says how applications get the cache.
func by(s *settings.Settings) (on bool, by string) {
	if s.Disable {
		return false, s.Origin("disable").String()
	}
	if path, err := session.File(); err == nil {
		if _, found, err := session.OwnFile(path).Read(); found && err == nil {
			return true, "session"
		}
	}
	if len(launch.OwnLibraries(os.Getenv(runtimes.Layers().Variable), ":"))+len(launch.OwnLibraries(os.Getenv("LD_PRELOAD"), ": ")) > 0 {
		return true, "environment"
	}
	return true, "run"
}

// records adds what processes recorded.
func (b *Board) records(ctx context.Context, c cli.Cache, now time.Time) error {
	l, err := ledger.Look(ctx, c)
	if err != nil {
		return err
	}
	defer l.Close()
	days, err := l.Days()
	if err != nil {
		return err
	}
	var today, week ledger.Sums
	date := func(ago int) string { return now.Local().AddDate(0, 0, -ago).Format(time.DateOnly) }
	for _, d := range days {
		if d.Date == date(0) {
			today.Add(d.Sums)
		}
		if d.Date >= date(6) && d.Date <= date(0) {
			week.Add(d.Sums)
		}
		b.Days = append(b.Days, Day{d.Date, periodOf(d.Sums)})
	}
	b.Today, b.Week = periodOf(today), periodOf(week)
	apps, err := l.Totals()
	for _, a := range apps {
		b.Apps = append(b.Apps, App{a.App, periodOf(a.Sums)})
	}
	if err != nil {
		return err
	}
	const most = 1000
	n := 0
	return l.Misses(func(m *ledger.Missed) bool {
		if text := trouble(m); text != "" {
			b.Last = &Problem{time.Unix(m.At, 0).UTC(), m.App, m.Key.Key.Short(), text}
		}
		n++
		return b.Last == nil && n < most
	})
}

// trouble says what went wrong at a miss; "": nothing did.
func trouble(m *ledger.Missed) string {
	switch r := reason.Named(m.Reason); {
	case r == reason.MissAbsent && m.Was == records.Damaged:
		return reason.MissDigest.Words()
	case r > reason.MissAbsent && r <= reason.MissRemote && r != reason.MissVersion && r != reason.MissRefresh && r != reason.ObserveHits:
		return r.Words()
	}
	return ""
}

// shown is how many applications are printed.
const shown = 5

// Lines returns the board for people.
func (b *Board) Lines(now time.Time) (lines []string) {
	line := func(name, format string, args ...any) {
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%-9s %s", name, human.Printable(fmt.Sprintf(format, args...), false)), " "))
	}
	how := map[string]string{"session": "on for the session", "environment": "on in this environment", "run": "on under 'kernstash run'"}[b.By]
	if !b.On {
		how = fmt.Sprintf("off (%s)", b.By)
	} else if b.Mode != settings.ModeOn {
		how += ", mode " + b.Mode
	}
	line("cache", "%s, in %s", how, b.Status.Dir)
	over := func(of func(Period) string) string {
		all := of(b.All) + " in all"
		if !b.recorded && len(b.Days) == 0 {
			return all + "; days are not recorded (setting records)"
		}
		return fmt.Sprintf("%s today, %s in 7 days, %s", of(b.Today), of(b.Week), all)
	}
	line("saved", "%s", over(func(p Period) string { return took(p.SavedMS) }))
	line("hit rate", "%s", over(func(p Period) string { return human.Rate(p.Hits, p.Hits+p.Misses) }))
	name, width := "apps", 0
	top := b.Apps[:min(len(b.Apps), shown)]
	for _, a := range top {
		width = max(width, len([]rune(short(a.App))))
	}
	for _, a := range top {
		text := fmt.Sprintf("%-*s  %s saved, %s", width, short(a.App), took(a.SavedMS), human.Plural(a.Hits, "hit"))
		if a.Misses > 0 {
			text += fmt.Sprintf(", %d compiled in %s", a.Misses, took(a.CompilingMS))
		}
		line(name, "%s", text)
		name = ""
	}
	if len(top) == 0 {
		line(name, "none has been recorded")
	}
	line("size", "%s", size(&b.Status))
	line("problem", "%s", b.Last.text(now))
	return lines
}

func took(ms float64) string {
	if ms == 0 {
		return "0 s"
	}
	return human.Time(time.Duration(ms * float64(time.Millisecond)))
}

// short cuts a name to what fits beside the numbers.
func short(app string) string {
	const most = 24
	return human.Clip(app, most)
}

func size(st *disk.Status) string {
	about, of := "", "no limit"
	if !st.Counted && st.Exists {
		about = "about "
	}
	if st.MaxSize > 0 {
		of = fmt.Sprintf("%s of %s", human.Rate(st.Bytes, st.MaxSize), human.Size(st.MaxSize))
	}
	return fmt.Sprintf("%s%s (%s), %s", about, human.Size(st.Bytes), of, human.Plural(st.Entries, "entry"))
}

func (p *Problem) text(now time.Time) string {
	if p == nil {
		return "none known"
	}
	if p.At.IsZero() {
		return p.Text
	}
	return fmt.Sprintf("%s, %s, %s: %s", human.Age(p.At, now), cmp.Or(p.App, "?"), cmp.Or(p.Key, "–"), p.Text)
}

// Stat prints the board, and everything that was counted where verbose is set. With reset the counts are zero after that.
func Stat(ctx context.Context, c cli.Cache, verbose, reset bool) error {
	now := time.Now()
	b, err := Look(ctx, c, now)
	if err != nil {
		return err
	}
	report := struct {
		entries.StatReport
		*Board
		Reset bool `json:"reset,omitempty"` // these counts and totals are zero from now on
	}{Board: b, Reset: reset}
	var full *entries.Statistics
	if verbose || c.JSON {
		if full, err = entries.LookStatistics(ctx, c, b.Status, b.Counts); err != nil {
			return err
		}
		report.StatReport = full.Report()
	}
	err = c.Report(report, true, func() {
		if reset {
			c.Printf("until now:\n")
		}
		for _, text := range b.Lines(now) {
			c.Printf("%s", human.WrapLines(text+"\n", 10, c.Terminal().Lines))
		}
		if full != nil {
			c.Printf("\n")
			full.WriteText(c.App)
		}
	})
	if err != nil || !reset {
		return err
	}
	if err := c.Flush(); err != nil { // what could not be written is not thrown away
		return err
	}
	if err := c.Disk.ResetStats(); err != nil {
		return err
	}
	if err := ledger.ResetTotals(ctx, c.Disk); err != nil {
		return err
	}
	if !c.JSON {
		c.Fold(func() { c.Printf("these counts, and the totals of days and applications, begin at zero now\n") })
	}
	return nil
}
