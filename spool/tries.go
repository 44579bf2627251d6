package spool

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Tries are what became of a job so far, in a file beside it: so a compiler that
// takes its worker down with it, each time, is not asked for ever.
type Tries struct {
	Begun  int // times that a worker began it, where it could be done
	Failed int // times that its compiler crashed, or took too long

	missing []missing // machines that have not what it needs, the latest last
}

// missing is a machine on which a job could not be done.
type missing struct {
	machine uint64
	minute  int64 // since 1970
}

// The text of the file: a letter for each thing that happened, and an m for each
// machine on which the job could not be done, with two numbers. Versions that do not
// know the latter count the letters that they know.
const (
	tryBegun   = "b"
	tryFailed  = "f"
	tryMissing = "m"
	maxTries   = 2000

	maxMissing = 16
)

// Missing notes that the job cannot be done on a machine, for what is not there, and
// that the attempt is no fault of the job's.
func (t *Tries) Missing(machine string, now time.Time) {
	id := idOf(machine)
	t.missing = slices.DeleteFunc(t.missing, func(m missing) bool { return m.machine == id })
	t.missing = append(t.missing, missing{id, now.Unix() / 60})
	t.missing = t.missing[max(0, len(t.missing)-maxMissing):]
	t.Begun = max(0, t.Begun-1)
}

// MissingSince says since when a machine is known not to have what the job needs.
func (t *Tries) MissingSince(machine string) (since time.Time, is bool) {
	for _, m := range t.missing {
		if m.machine == idOf(machine) {
			return time.Unix(m.minute*60, 0), true
		}
	}
	return time.Time{}, false
}

func idOf(machine string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(machine))
	return h.Sum64()
}

func (t *Tries) text() string {
	var b strings.Builder
	for _, m := range t.missing {
		fmt.Fprintf(&b, "%s%d.%d ", tryMissing, m.machine, m.minute)
	}
	b.WriteString(strings.Repeat(tryBegun, min(t.Begun, maxTries/8)))
	b.WriteString(strings.Repeat(tryFailed, min(t.Failed, maxTries/8)))
	return b.String()
}

func parseTries(text string) Tries {
	t := Tries{Begun: strings.Count(text, tryBegun), Failed: strings.Count(text, tryFailed)}
	for word := range strings.FieldsSeq(text) {
		machine, minute, ok := strings.Cut(strings.TrimPrefix(word, tryMissing), ".")
		id, err := strconv.ParseUint(machine, 10, 64)
		at, atErr := strconv.ParseInt(minute, 10, 64)
		if ok && err == nil && atErr == nil && len(t.missing) < maxMissing {
			t.missing = append(t.missing, missing{id, at})
		}
	}
	return t
}

// ReadTries returns what became of a job so far.
func ReadTries(ctx context.Context, s Store, e *Entry) Tries {
	b, _, err := s.SpoolRead(ctx, e.Environment, e.Name+"."+triesWord, maxTries)
	if err != nil {
		return Tries{}
	}
	return parseTries(string(b))
}

// WriteTries notes what became of a job. Only the one worker does.
func WriteTries(ctx context.Context, s Store, e *Entry, t Tries) error {
	return replace(ctx, s, e.Environment, e.Name+"."+triesWord, t.text())
}
