// Package reason names why a request was not served from the cache, or why what was
// built for it is not kept.
package reason

import (
	"cmp"
	"fmt"
)

// Reason is one such reason. The zero Reason is none.
type Reason uint8

// The reasons.
const (
	_ Reason = iota

	// The disk tier missed, or was not asked.
	MissAbsent     // no such entry
	MissTierOff    // the tier is off
	MissUnreadable // permission or I/O error
	MissIrregular  // symbolic link, FIFO, directory, device, foreign owner
	MissTruncated  // shorter or longer than its header says
	MissForeign    // not an entry at all (magic)
	MissVersion    // an entry of another format version
	MissCollision  // an entry of another key under the same names
	MissDigest     // bytes differ from their digest
	MissRefused    // the driver refused the artifact
	MissRefresh    // mode refresh does not look
	ObserveHits    // mode observe does not serve what is there
	MissUntrusted  // signed by nobody who is trusted, or wrongly
	MissRemote     // a remote that cannot be asked, or did not answer in time

	// What differs from the nearest entry explains a miss.
	NearestNothing   // no entry is near
	NearestDevice    // the device (name, version)
	NearestDriver    // the driver's version
	NearestCompiler  // the compiler
	NearestImage     // the device image, its code too
	NearestHeader    // header files
	NearestConstants // the specialization constants
	NearestOptions   // the build options
	NearestVariable  // an environment variable

	// A build is not stored.
	NotCacheableChanged // header files changed meanwhile
	NotCacheableHeaders // reads headers that cannot be known
	NotCacheableTime    // code depends on date or time
	NotCacheableFile    // code reads other files (.incbin)
	NotCacheableOptions // options with side effects
	NotCacheableSize    // device image outside the size window
	NotCacheableCheap   // built faster than the minimum build time
	NotCacheableRuntime // the runtime said so

	// A layer or an interposer passes a request through.
	PassedBinary  // a program of a binary that the application has
	PassedInputs  // a link of programs that are not known
	PassedOptions // options that do more than build
	PassedBusy    // it would have waited too long, or for itself
	PassedOther   // anything else
	PassedPanic   // an error of our own
)

// texts are what reasons are called, and what is said of them to people.
var texts = [...]struct{ name, words, short string }{
	MissAbsent:     {name: "miss.absent", words: "not in the cache"},
	MissTierOff:    {name: "miss.tier-off", words: "the disk tier is off ('kernstash doctor' says why)"},
	MissUnreadable: {name: "miss.unreadable", words: "its entry cannot be read"},
	MissIrregular:  {name: "miss.irregular", words: "its entry is no file of ours"},
	MissTruncated:  {name: "miss.truncated", words: "its entry was cut short"},
	MissForeign:    {name: "miss.foreign", words: "its file is not an entry"},
	MissVersion:    {name: "miss.version", words: "its entry is of another version"},
	MissCollision:  {name: "miss.collision", words: "another program has its name"},
	MissDigest:     {name: "miss.digest", words: "its entry was damaged"},
	MissRefused:    {name: "miss.refused", words: "the driver refused its entry"},
	MissRefresh:    {name: "miss.refresh", words: "mode refresh"},
	ObserveHits:    {name: "observe.hits", words: "mode observe"},
	MissUntrusted:  {name: "miss.untrusted", words: "its entry is not signed by a trusted key"},
	MissRemote:     {name: "miss.remote", words: "the remote did not answer"},

	NearestNothing:   {name: "nearest.nothing", words: "nothing is near: a new program"},
	NearestDevice:    {name: "nearest.device", words: "the device"},
	NearestDriver:    {name: "nearest.driver", words: "the driver's version"},
	NearestCompiler:  {name: "nearest.compiler", words: "the compiler"},
	NearestImage:     {name: "nearest.image", words: "the source"},
	NearestHeader:    {name: "nearest.header", words: "a header"},
	NearestConstants: {name: "nearest.constants", words: "a specialization constant"},
	NearestOptions:   {name: "nearest.options", words: "the build options"},
	NearestVariable:  {name: "nearest.variable", words: "an environment variable"},

	NotCacheableChanged: {"not-cacheable.headers-changed", "headers changed while it was built", "headers changed during the build"},
	NotCacheableHeaders: {"not-cacheable.headers", "it reads headers that cannot be known", "headers"},
	NotCacheableTime:    {"not-cacheable.time", "it depends on date or time", "date or time"},
	NotCacheableFile:    {"not-cacheable.file", "it reads other files", "reads a file"},
	NotCacheableOptions: {"not-cacheable.options", "its options have side effects", "options with side effects"},
	NotCacheableSize:    {"not-cacheable.size", "its size is outside the limits", "size of the device image"},
	NotCacheableCheap:   {"not-cacheable.cheap", "it was built fast enough", "cheap to build"},
	NotCacheableRuntime: {"not-cacheable.runtime", "the runtime said so", "the runtime"},

	PassedBinary:  {name: "passed.binary", words: "the application had the binary"},
	PassedInputs:  {name: "passed.inputs", words: "a link of programs that are not known"},
	PassedOptions: {name: "passed.options", words: "options that do more than build"},
	PassedBusy:    {name: "passed.busy", words: "it would have waited too long"},
	PassedOther:   {name: "passed.other", words: "other reasons, see the report of a run"},
	PassedPanic:   {name: "passed.panics", words: "an error of ours"},
}

// String returns the name of r, as JSON and traces show it; "" for none.
func (r Reason) String() string { return texts[r].name }

// Words says the reason to people.
func (r Reason) Words() string { return texts[r].words }

// Short says in few words why a build is not cacheable, before a detail.
func (r Reason) Short() string { return texts[r].short }

// Uncacheable says why a build cannot be cached. The zero Uncacheable says that nothing speaks
// against it.
type Uncacheable struct {
	Code   Reason // one of NotCacheable…
	Detail string // what was found
}

// None reports whether there is nothing against caching.
func (u Uncacheable) None() bool { return u == Uncacheable{} }

// String returns the reason for people: "not cacheable: headers (…)".
func (u Uncacheable) String() string {
	if u.None() {
		return "cacheable"
	}
	return fmt.Sprintf("not cacheable: %s (%s)", cmp.Or(u.Code.Short(), "other"), u.Detail)
}

// Named returns the reason that String calls so; 0: there is none.
func Named(name string) Reason {
	for r, text := range texts {
		if text.name == name && name != "" {
			return Reason(r)
		}
	}
	return 0
}
