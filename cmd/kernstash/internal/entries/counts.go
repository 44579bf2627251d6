package entries

import (
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

// statGroup is a list of counters with the words for them, of which those that
// are not zero are shown.
type statGroup struct {
	title string
	rows  []statRow
}

type statRow struct {
	counter stats.Counter
	words   string
}

var statGroups = []statGroup{
	{"disk missed because", reasonRows("", reason.MissAbsent, reason.MissRefresh)},
	{"what differed from the nearest entry", reasonRows("", reason.NearestNothing, reason.NearestVariable)},
	{"not stored because", notStored},
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
	{"trouble", []statRow{
		{stats.DiskPutsDropped, "not stored: the cache was full, or its program ended"},
		{stats.DiskPutFailures, "could not be stored"},
		{stats.CapturesDropped, "programs whose code was not captured"},
		{stats.Corrupt, "found damaged or refused, and built again"},
		{stats.DiskWaitsGivenUp, "waits for another process that were given up"},
		{stats.OutOfResources, "times that a device ran out of resources"},
	}},
}

// notStored are the rules that keep a program out of the cache.
var notStored = reasonRows("", reason.NotCacheableChanged, reason.NotCacheableRuntime)

// reasonRows returns the rows of the reasons from first to last.
func reasonRows(before string, first, last reason.Reason) (rows []statRow) {
	for r := first; r <= last; r++ {
		rows = append(rows, statRow{stats.Of(r), before + r.Words()})
	}
	return rows
}
