package entries

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
)

// statReport is what `stat --json` writes.
type statReport struct {
	Dir     string         `json:"dir"`
	Note    string         `json:"note,omitempty"` // what is not as it should be
	Entries int64          `json:"entries"`
	Bytes   int64          `json:"bytes"`
	Exact   bool           `json:"exact"`             // entries and bytes are not estimated
	Counted *time.Time     `json:"counted,omitempty"` // when the last part of them was
	MaxSize int64          `json:"max_size"`
	Policy  string         `json:"eviction"`
	Older   *olderReport   `json:"older,omitempty"` // entries of older versions of kernstash
	HitRate statRates      `json:"hit_rate"`
	SavedMS float64        `json:"saved_ms"`
	Counts  stats.Snapshot `json:"counts"`
}

type olderReport struct {
	Entries int64  `json:"entries"`
	Bytes   int64  `json:"bytes"`
	Exact   bool   `json:"exact"`  // else there may be more
	Remove  string `json:"remove"` // by this command, once they were not used for a day
}

// statRates are shares from 0 to 1.
type statRates struct {
	Memory float64 `json:"memory"` // of all requests
	Disk   float64 `json:"disk"`   // of those that memory did not answer
}

// olderTime is how long stat looks for entries of older versions.
const olderTime = 50 * time.Millisecond

// Stat writes totals and counts; if reset is set it sets the counts to zero afterwards.
func Stat(ctx context.Context, a *cli.App, d *disk.Store, reset bool) error {
	st := d.Status()
	if !st.On {
		return errors.New(st.Reason)
	}
	s, err := d.Stats()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, olderTime)
	defer cancel()
	older, err := d.Older(ctx)
	if err != nil {
		return err
	}
	err = a.Report(reportStat(st, s, older), func() { writeStat(a, st, s, older) })
	if err == nil && reset {
		// What could not be written is not thrown away.
		err = a.Flush()
	}
	if err == nil && reset {
		err = d.ResetStats()
	}
	return err
}

func reportStat(st disk.Status, s stats.Snapshot, older disk.Older) statReport {
	r := statReport{
		Dir: st.Dir, Note: st.Reason, Entries: st.Entries, Bytes: st.Bytes, Exact: st.Counted || !st.Exists, MaxSize: st.MaxSize,
		Policy: st.Policy.String(), SavedMS: human.Millis(s.Duration(stats.SavedTime)), Counts: s,
	}
	if st.Counted && st.Exists {
		at := st.CountedAt.UTC()
		r.Counted = &at
	}
	if older.Entries > 0 {
		r.Older = &olderReport{older.Entries, older.Bytes, older.All, "kernstash gc"}
	}
	r.HitRate.Memory = rate(s[stats.MemoryHits], s[stats.MemoryHits]+s[stats.MemoryMisses])
	r.HitRate.Disk = rate(s[stats.DiskHits], s[stats.DiskHits]+s[stats.DiskMisses])
	return r
}

func rate(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

func writeStat(a *cli.App, st disk.Status, s stats.Snapshot, older disk.Older) {
	line := func(name, format string, args ...any) {
		a.Printf("%-12s %s\n", name, human.Printable(fmt.Sprintf(format, args...), false))
	}
	line("cache", "%s", st.Dir)
	if st.Reason != "" {
		line("note", "%s", st.Reason)
	}
	limit := "no limit"
	if st.MaxSize > 0 {
		limit = fmt.Sprintf("%s of %s", human.Rate(st.Bytes, st.MaxSize), human.Size(st.MaxSize))
	}
	about := ""
	if !st.Counted && st.Exists {
		about = "about "
	}
	line("holds", "%s%s, %s on disk (%s), eviction by %v", about, human.Plural(st.Entries, "entry"), human.Size(st.Bytes), limit, st.Policy)
	if st.Exists {
		account := "not all of it is counted yet; kernstash gc counts it now"
		if st.Counted {
			account = "kept by every put; counted " + human.Age(st.CountedAt, time.Now())
		}
		line("account", "%s", account)
	}
	if older.Entries > 0 {
		atLeast := ""
		if !older.All {
			atLeast = "at least "
		}
		line("older", "%s%s, %s, of an older version, which never hit; 'kernstash gc' removes those not used for a day",
			atLeast, human.Plural(older.Entries, "entry"), human.Size(older.Bytes))
	}
	line("memory", "%s, %s (%s hit), %s, %s",
		human.Plural(s[stats.MemoryHits], "hit"), human.Plural(s[stats.MemoryMisses], "miss"),
		human.Rate(s[stats.MemoryHits], s[stats.MemoryHits]+s[stats.MemoryMisses]),
		human.Plural(s[stats.MemoryWaits], "wait"), human.Plural(s[stats.MemoryEvictions], "eviction"))
	line("disk", "%s, %s (%s hit), %s, %s",
		human.Plural(s[stats.DiskHits], "hit"), human.Plural(s[stats.DiskMisses], "miss"),
		human.Rate(s[stats.DiskHits], s[stats.DiskHits]+s[stats.DiskMisses]),
		human.Plural(s[stats.DiskWaits], "wait"), human.Plural(s[stats.DiskEvictions], "eviction"))
	line("read", "%s", human.Size(s[stats.DiskBytesRead]))
	line("written", "%s in %s, %s captured", human.Size(s[stats.DiskBytesWritten]),
		human.Plural(s[stats.DiskPuts]+s[stats.DiskPutsBettered], "put"), human.Plural(s[stats.Captures], "program"))
	line("compiled", "%s in %s, %d failed", human.Plural(s[stats.Builds], "program"),
		human.Time(s.Duration(stats.BuildTime)), s[stats.BuildFailures])
	line("loaded", "in %s", human.Time(s.Duration(stats.LoadTime)))
	line("time saved", "%s", human.Time(s.Duration(stats.SavedTime)))
	for _, g := range statGroups {
		writeGroup(a, g, s)
	}
}

func writeGroup(a *cli.App, g statGroup, s stats.Snapshot) {
	titled := false
	for _, r := range g.rows {
		if s[r.counter] == 0 {
			continue
		}
		if !titled {
			a.Printf("%s\n", g.title)
			titled = true
		}
		a.Printf("  %8d  %s\n", s[r.counter], r.words)
	}
}
