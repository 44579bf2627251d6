package disk

import (
	"fmt"

	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// The account is the total of bytes and entries, kept without a walk and
// without one lock for all writers (see internal/tally). It may drift: a
// writer is killed between its file and its addition, people delete files by
// hand. Every run of the evictor and of GC counts anew and corrects it.

// total returns the account. counted is false while it has not yet been
// started from a count.
func (m *meta) total() (bytes, entries int64, counted bool, err error) {
	sums, flags, err := m.account.Totals()
	if err != nil {
		return 0, 0, false, err
	}
	return max(sums[accountBytes], 0), max(sums[accountEntries], 0), flags&flagCounted != 0, nil
}

func (s *Store) accountAdd(m *meta, bytes, entries int64) {
	if err := m.account.Add(bytes, entries); err != nil {
		s.o.Trace.Debug("account not updated", "reason", err)
	}
}

// correct makes the account say what a count found. before is what it said
// when the count began: additions made meanwhile stay. One that the count saw
// as well is in twice until the next count, so a total errs to the safe side.
func (s *Store) correct(m *meta, before, counted usage) {
	d := counted.minus(before)
	s.accountAdd(m, d.bytes, d.entries)
	if err := m.account.SetFlags(flagCounted); err != nil {
		s.o.Trace.Debug("account not marked", "reason", err)
	}
}

// usage is a number of entries and their bytes.
type usage struct{ bytes, entries int64 }

func (u usage) minus(v usage) usage { return usage{u.bytes - v.bytes, u.entries - v.entries} }

// rawTotal is what the account holds, negative drift included.
func (m *meta) rawTotal() (usage, error) {
	sums, _, err := m.account.Totals()
	if err != nil {
		return usage{}, err
	}
	return usage{sums[accountBytes], sums[accountEntries]}, nil
}

// reserve decides whether size bytes may be written, and counts them as in
// flight until release is called. It never waits: while the total is above the
// limit plus what is in flight, the evictor has not caught up and the put is
// dropped.
func (s *Store) reserve(m *meta, size int64) (release func(), err error) {
	others := s.inFlight.Add(size) - size
	release = func() { s.inFlight.Add(-size) }
	if s.o.MaxSize <= 0 {
		return release, nil
	}
	bytes, _, _, err := m.total()
	if err == nil && bytes > s.o.MaxSize+others {
		release()
		s.wakeEvictor()
		return nil, fmt.Errorf("%d of %d bytes used: %w", bytes, s.o.MaxSize, store.ErrDropped)
	}
	return release, nil
}

// settle is called after a put: it wakes the evictor where there is work.
func (s *Store) settle(m *meta) {
	bytes, _, counted, err := m.total()
	if err == nil && (!counted || s.o.MaxSize > 0 && bytes > s.o.MaxSize) {
		s.wakeEvictor()
	}
}

// countPut counts what Put did.
func (s *Store) countPut(res store.PutResult, written int64, dropped bool) {
	switch {
	case dropped:
		s.count(stats.DiskPutsDropped, 1)
	case res == store.Stored:
		s.count(stats.DiskPuts, 1)
		s.count(stats.DiskBytesWritten, written)
	case res == store.Bettered:
		s.count(stats.DiskPutsBettered, 1)
		s.count(stats.DiskBytesWritten, written)
	case res == store.Existing:
		s.count(stats.DiskPutsExisting, 1)
	default:
		s.count(stats.DiskPutFailures, 1)
	}
}
