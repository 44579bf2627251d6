package entries

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/frameworks"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
)

// StatReport is what `stat --json` writes of what is counted.
type StatReport struct {
	Dir     string       `json:"dir"`
	Note    string       `json:"note,omitempty"` // what is not as it should be
	Entries int64        `json:"entries"`
	Bytes   int64        `json:"bytes"`
	Exact   bool         `json:"exact"`             // entries and bytes are not estimated
	Counted *time.Time   `json:"counted,omitempty"` // when the last part of them was
	MaxSize int64        `json:"max_size"`
	Policy  string       `json:"eviction"`
	Older   *olderReport `json:"older,omitempty"` // entries of older versions of kernstash

	Frameworks        []frameworks.Cache `json:"frameworks,omitempty"` // what they keep in caches that were switched on
	FrameworksMaxSize int64              `json:"frameworks_max_size"`

	HitRate statRates      `json:"hit_rate"`
	SavedMS float64        `json:"saved_ms"`
	Counts  stats.Snapshot `json:"counts"`

	Remotes *remotesReport `json:"remotes,omitempty"` // where anything was counted of them
}

// remotesReport is what the remotes did in all; counts has the rest.
type remotesReport struct {
	HitRate      float64 `json:"hit_rate"` // of requests that got as far as to the remotes
	SavedMS      float64 `json:"saved_ms"`
	BytesRead    int64   `json:"bytes_read"`
	BytesWritten int64   `json:"bytes_written"`
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

// Statistics are what a cache holds, and what was counted of it.
type Statistics struct {
	status     disk.Status
	counts     stats.Snapshot
	older      disk.Older
	frameworks []frameworks.Cache
	max        int64 // of what frameworks keep
}

// LookStatistics adds to the status and the counts of a cache what has to be looked for.
func LookStatistics(ctx context.Context, c cli.Cache, st disk.Status, counts stats.Snapshot) (*Statistics, error) {
	kept, err := frameworks.Look(ctx, c.Settings.Dir)
	if err != nil {
		return nil, err
	}
	const most = 50 * time.Millisecond // to look for entries of older versions
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	older, err := c.Disk.Older(ctx)
	if err != nil {
		return nil, err
	}
	return &Statistics{st, counts, older, kept, c.Settings.FrameworksMaxSize}, nil
}

// Report returns them for JSON.
func (s *Statistics) Report() StatReport {
	r := reportStat(s.status, s.counts, s.older)
	r.Frameworks, r.FrameworksMaxSize = s.frameworks, s.max
	return r
}

// WriteText writes them for people.
func (s *Statistics) WriteText(a *cli.App) {
	writeStat(a, s.status, s.counts, s.older)
	writeFrameworks(a, s.frameworks, s.max)
}

// Trouble says what was counted that should not have happened; "": nothing.
func Trouble(s stats.Snapshot) string {
	for _, r := range statGroups[troubleGroup].rows {
		if s[r.counter] != 0 {
			return r.number(s[r.counter]) + " " + r.words
		}
	}
	return ""
}

func reportStat(st disk.Status, s stats.Snapshot, older disk.Older) StatReport {
	r := StatReport{
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
	if anyOf(s, statGroups[remotesGroup].rows) {
		r.Remotes = &remotesReport{
			HitRate: rate(s[stats.RemoteHits], s[stats.RemoteHits]+s[stats.RemoteMisses]), SavedMS: human.Millis(s.Duration(stats.RemoteSavedTime)),
			BytesRead: s[stats.RemoteBytesRead], BytesWritten: s[stats.RemoteBytesWritten],
		}
	}
	r.HitRate.Memory = rate(s[stats.MemoryHits], s[stats.MemoryHits]+s[stats.MemoryMisses])
	r.HitRate.Disk = rate(s[stats.DiskHits], s[stats.DiskHits]+s[stats.DiskMisses])
	return r
}

// anyOf reports whether anything was counted of some rows.
func anyOf(s stats.Snapshot, rows []statRow) bool {
	return slices.ContainsFunc(rows, func(r statRow) bool { return s[r.counter] != 0 })
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
	tier := func(name string, hits, misses, waits, evictions int64) {
		line(name, "%s, %s (%s hit), %s, %s", human.Plural(hits, "hit"), human.Plural(misses, "miss"),
			human.Rate(hits, hits+misses), human.Plural(waits, "wait"), human.Plural(evictions, "eviction"))
	}
	tier("memory", s[stats.MemoryHits], s[stats.MemoryMisses], s[stats.MemoryWaits], s[stats.MemoryEvictions])
	tier("disk", s[stats.DiskHits], s[stats.DiskMisses], s[stats.DiskWaits], s[stats.DiskEvictions])
	line("read", "%s", human.Size(s[stats.DiskBytesRead]))
	line("written", "%s in %s, %s captured", human.Size(s[stats.DiskBytesWritten]),
		human.Plural(s[stats.DiskPuts]+s[stats.DiskPutsBettered], "put"), human.Plural(s[stats.Captures], "program"))
	line("compiled", "%s in %s, %d failed", human.Plural(s[stats.Builds], "program"),
		human.Time(s.Duration(stats.BuildTime)), s[stats.BuildFailures])
	line("loaded", "in %s", human.Time(s.Duration(stats.LoadTime)))
	line("time saved", "%s", human.Time(s.Duration(stats.SavedTime)))
	for _, g := range statGroups {
		title := g.title + "\n" // before the first row
		for _, r := range g.rows {
			if s[r.counter] != 0 {
				a.Printf("%s  %8s  %s\n", title, r.number(s[r.counter]), r.words)
				title = ""
			}
		}
	}
}

// statGroup is a list of counters with words for them; those that are not zero are shown.
type statGroup struct {
	title string
	rows  []statRow
}

type statRow struct {
	counter stats.Counter
	words   string
}

// number says a count, or what is no count, for people.
func (r statRow) number(n int64) string {
	switch r.counter {
	case stats.RemoteBytesRead, stats.RemoteBytesWritten:
		return human.Size(n)
	case stats.RemoteSavedTime:
		return human.Time(time.Duration(n))
	}
	return strconv.FormatInt(n, 10)
}

// Groups of statGroups.
const (
	remotesGroup = 0
	troubleGroup = 8
)

var statGroups = []statGroup{
	remotesGroup: {"remotes", []statRow{
		{stats.RemoteHits, "entries that they had"},
		{stats.RemoteMisses, "requests that none of them answered"},
		{stats.RemoteSavedTime, "saved by them"},
		{stats.RemoteBytesRead, "read"},
		{stats.RemoteBytesWritten, "uploaded"},
		{stats.RemotePuts, "entries uploaded"},
		{stats.RemotePutsExisting, "entries that were there already"},
		{stats.RemotePutsDropped, "not uploaded: too many waited, a remote was given up, or the program ended"},
		{stats.RemotePutFailures, "could not be uploaded"},
		{stats.RemoteErrors, "calls that failed"},
		{stats.RemoteTimeouts, "calls that were not answered in time"},
		{stats.RemoteBreaks, "times that a remote was given up for a while"},
		{stats.RemoteSkipped, "calls not made meanwhile"},
		{stats.LeasesWon, "builds that this machine made for all"},
		{stats.LeasesWaited, "builds that waited for another machine"},
		{stats.LeasesGivenUp, "such waits that were given up"},
	}},
	{"disk missed because", append(reasonRows("", reason.MissAbsent, reason.MissRefresh), reasonRows("", reason.MissUntrusted, reason.MissRemote)...)},
	{"what differed from the nearest entry", reasonRows("", reason.NearestNothing, reason.NearestVariable)},
	{"not stored because", reasonRows("", reason.NotCacheableChanged, reason.NotCacheableRuntime)},
	{"header files", []statRow{
		{stats.HeadersChecked, "programs whose list of header files still held"},
		{stats.HeadersScanned, "programs whose source was scanned for header files"},
	}},
	{"unchanged applications", append([]statRow{
		{stats.Delegated, "programs whose code was left to the worker"},
	}, reasonRows("passed through: ", reason.PassedBinary, reason.PassedPanic)...)},
	{"the worker", []statRow{
		{stats.JobsAdded, "jobs and launches noted for it"},
		{stats.JobsMerged, "others that were noted before, or that a worker refused"},
		{stats.JobsDropped, "jobs not noted: too many, no room, or an error"},
		{stats.JobsDone, "jobs that a worker did"},
		{stats.JobsRefused, "jobs that a worker dropped, with a reason"},
	}},
	{"mode observe", []statRow{
		{stats.Of(reason.ObserveHits), "would have hit"},
		{stats.ObserveEqual, "built to the bytes that are stored"},
		{stats.ObserveDifferent, "built to other bytes"},
	}},
	troubleGroup: {"trouble", []statRow{
		{stats.DiskPutsDropped, "not stored: the cache was full, or its program ended"},
		{stats.DiskPutFailures, "could not be stored"},
		{stats.CapturesDropped, "programs whose code was not captured"},
		{stats.Corrupt, "found damaged or refused, and built again"},
		{stats.DiskWaitsGivenUp, "waits for another process that were given up"},
		{stats.OutOfResources, "times that a device ran out of resources"},
	}},
}

// reasonRows returns the rows of the reasons from first to last.
func reasonRows(before string, first, last reason.Reason) (rows []statRow) {
	for r := first; r <= last; r++ {
		rows = append(rows, statRow{stats.Of(r), before + r.Words()})
	}
	return rows
}
