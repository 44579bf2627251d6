package main

import "github.com/kernstash/kernstash/stats"

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
	{"disk missed because", []statRow{
		{stats.MissAbsent, "there is no such entry"},
		{stats.MissTierOff, "the tier is off"},
		{stats.MissUnreadable, "it cannot be read"},
		{stats.MissIrregular, "it is no file of ours"},
		{stats.MissTruncated, "it is cut short, or too long"},
		{stats.MissForeign, "it is not an entry"},
		{stats.MissVersion, "it is of another version"},
		{stats.MissCollision, "another key has its name"},
		{stats.MissDigest, "its bytes are damaged"},
		{stats.MissRefused, "the driver refused it"},
		{stats.MissRefresh, "the mode is refresh"},
	}},
	{"what differed from the nearest entry", []statRow{
		{stats.NearestNothing, "nothing is near: a new program"},
		{stats.NearestDevice, "the device"},
		{stats.NearestDriver, "the driver's version"},
		{stats.NearestCompiler, "the compiler"},
		{stats.NearestImage, "the source"},
		{stats.NearestHeader, "a header"},
		{stats.NearestConstants, "a specialization constant"},
		{stats.NearestOptions, "the build options"},
		{stats.NearestVariable, "an environment variable"},
	}},
	{"not stored because", notStored},
	{"header files", []statRow{
		{stats.HeadersChecked, "programs whose list of header files still held"},
		{stats.HeadersScanned, "programs whose source was scanned for header files"},
	}},
	{"unchanged applications", []statRow{
		{stats.Delegated, "programs whose code was left to the worker"},
		{stats.PassedBinary, "passed through: the application had the binary"},
		{stats.PassedInputs, "passed through: a link of programs that are not known"},
		{stats.PassedOptions, "passed through: options that do more than build"},
		{stats.PassedBusy, "passed through: it would have waited too long"},
		{stats.PassedOther, "passed through: other reasons, see the report of a run"},
		{stats.Panics, "passed through: an error of ours"},
	}},
	{"the worker", []statRow{
		{stats.JobsAdded, "jobs and launches noted for it"},
		{stats.JobsMerged, "others that were noted before, or that a worker refused"},
		{stats.JobsDropped, "jobs not noted: too many, no room, or an error"},
		{stats.JobsDone, "jobs that a worker did"},
		{stats.JobsRefused, "jobs that a worker dropped, with a reason"},
	}},
	{"mode observe", []statRow{
		{stats.ObserveHits, "would have hit"},
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
var notStored = []statRow{
	{stats.NotCacheableHeaders, "it reads headers that cannot be known"},
	{stats.NotCacheableChanged, "headers changed while it was built"},
	{stats.NotCacheableTime, "it depends on date or time"},
	{stats.NotCacheableFile, "it reads other files"},
	{stats.NotCacheableOptions, "its options have side effects"},
	{stats.NotCacheableSize, "its size is outside the limits"},
	{stats.NotCacheableCheap, "it was built fast enough"},
	{stats.NotCacheableRuntime, "the runtime said so"},
}
