package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
)

func (a *app) statCommand() *cobra.Command {
	var reset bool
	cmd := &cobra.Command{
		Use:   "stat",
		Short: "Print totals, hit rates, time saved, and why requests missed",
		Long: `Print what the cache holds, by the account that every put keeps, so a cache of any
size answers at once; and what all processes that used it have counted:
how many requests each tier answered, the build time that was saved, why
requests missed, and what was not stored and why. Entries of older versions of
kernstash, which are misses, are looked for in a part of a large cache.

A miss is explained by the entry that is nearest to it: what differs between
the two is why it missed.

EXIT STATUS
  0  printed
  1  the cache is off or cannot be read; the message says why`,
		Example: `  kernstash stat
  kernstash stat --json
  kernstash stat --reset`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.stat(cmd.Context(), reset) },
	}
	cmd.Flags().BoolVar(&reset, "reset", false, "set the counts to zero afterwards")
	return cmd
}

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

func (a *app) stat(ctx context.Context, reset bool) (err error) {
	d, _, err := a.openDisk()
	if err != nil {
		return err
	}
	defer closeDisk(d, &err)
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
	if a.json {
		err = a.writeJSON(reportStat(st, s, older))
	} else {
		err = a.writeStat(st, s, older)
	}
	if err == nil && reset {
		// What could not be written is not thrown away.
		err = a.flush()
	}
	if err == nil && reset {
		err = d.ResetStats()
	}
	return err
}

func reportStat(st disk.Status, s stats.Snapshot, older disk.Older) statReport {
	r := statReport{
		Dir: st.Dir, Note: st.Reason, Entries: st.Entries, Bytes: st.Bytes, Exact: st.Counted || !st.Exists, MaxSize: st.MaxSize,
		Policy: st.Policy.String(), SavedMS: millis(s.Duration(stats.SavedTime)), Counts: s,
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

func (a *app) writeStat(st disk.Status, s stats.Snapshot, older disk.Older) error {
	line := func(name, format string, args ...any) {
		a.printf("%-12s %s\n", name, printable(fmt.Sprintf(format, args...), false))
	}
	line("cache", "%s", st.Dir)
	if st.Reason != "" {
		line("note", "%s", st.Reason)
	}
	limit := "no limit"
	if st.MaxSize > 0 {
		limit = fmt.Sprintf("%s of %s", humanRate(st.Bytes, st.MaxSize), humanSize(st.MaxSize))
	}
	about := ""
	if !st.Counted && st.Exists {
		about = "about "
	}
	line("holds", "%s%s, %s on disk (%s), eviction by %v", about, plural(st.Entries, "entry"), humanSize(st.Bytes), limit, st.Policy)
	if st.Exists {
		line("account", "%s", accountAge(st, time.Now()))
	}
	if older.Entries > 0 {
		atLeast := ""
		if !older.All {
			atLeast = "at least "
		}
		line("older", "%s%s, %s, of an older version, which never hit; 'kernstash gc' removes those not used for a day",
			atLeast, plural(older.Entries, "entry"), humanSize(older.Bytes))
	}
	line("memory", "%s, %s (%s hit), %s, %s",
		plural(s[stats.MemoryHits], "hit"), plural(s[stats.MemoryMisses], "miss"),
		humanRate(s[stats.MemoryHits], s[stats.MemoryHits]+s[stats.MemoryMisses]),
		plural(s[stats.MemoryWaits], "wait"), plural(s[stats.MemoryEvictions], "eviction"))
	line("disk", "%s, %s (%s hit), %s, %s",
		plural(s[stats.DiskHits], "hit"), plural(s[stats.DiskMisses], "miss"),
		humanRate(s[stats.DiskHits], s[stats.DiskHits]+s[stats.DiskMisses]),
		plural(s[stats.DiskWaits], "wait"), plural(s[stats.DiskEvictions], "eviction"))
	line("read", "%s", humanSize(s[stats.DiskBytesRead]))
	line("written", "%s in %s, %s captured", humanSize(s[stats.DiskBytesWritten]),
		plural(s[stats.DiskPuts]+s[stats.DiskPutsBettered], "put"), plural(s[stats.Captures], "program"))
	line("compiled", "%s in %s, %d failed", plural(s[stats.Builds], "program"),
		humanTime(s.Duration(stats.BuildTime)), s[stats.BuildFailures])
	line("loaded", "in %s", humanTime(s.Duration(stats.LoadTime)))
	line("time saved", "%s", humanTime(s.Duration(stats.SavedTime)))
	for _, g := range statGroups {
		a.writeGroup(g, s)
	}
	return nil
}

// accountAge says where the numbers come from: nothing is walked for them.
func accountAge(st disk.Status, now time.Time) string {
	if !st.Counted {
		return "not all of it is counted yet; kernstash gc counts it now"
	}
	return "kept by every put; counted " + humanAge(st.CountedAt, now)
}

func (a *app) writeGroup(g statGroup, s stats.Snapshot) {
	titled := false
	for _, r := range g.rows {
		if s[r.counter] == 0 {
			continue
		}
		if !titled {
			a.printf("%s\n", g.title)
			titled = true
		}
		a.printf("  %8d  %s\n", s[r.counter], r.words)
	}
}
