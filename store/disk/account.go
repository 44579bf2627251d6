package disk

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/kernstash/kernstash/internal/tally"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// The account is the total of bytes and entries, kept without a walk and
// without one lock for all writers (see internal/tally). It may drift: a
// writer is killed between its file and its addition, people delete files by
// hand. Every run of the evictor and of GC counts anew and corrects it.

// total returns the account. counted is false while it has not yet been
// started from a count, and where it has drifted so far that it is negative.
func (m *meta) total() (bytes, entries int64, counted bool, err error) {
	sums, flags, err := m.account.Totals()
	if err != nil {
		return 0, 0, false, err
	}
	bytes, entries = sums[accountBytes], sums[accountEntries]
	counted = flags&flagCounted != 0 && bytes >= 0 && entries >= 0
	return max(bytes, 0), max(entries, 0), counted, nil
}

func (s *Store) accountAdd(m *meta, bytes, entries int64) {
	if err := m.account.Add(bytes, entries); err != nil {
		s.o.Trace.Debug("account not updated", "reason", err)
	}
}

// correct makes the account say what a count found. before is what it said
// when the count began: what others change meanwhile stays. A change that the
// count saw as well is in twice, an addition as well as a removal, so a total
// may err to either side until the next count.
func (s *Store) correct(m *meta, before, counted usage) {
	d := counted.minus(before)
	s.accountAdd(m, d.bytes, d.entries)
	if err := m.account.SetFlags(flagCounted); err != nil {
		s.o.Trace.Debug("account not marked", "reason", err)
	}
}

// startCount returns what the account holds before a count, nil where it
// cannot be read: then the count corrects nothing. renew puts a new one in the
// place of what can never be read: a directory, an account of another version.
func (s *Store) startCount(m *meta, renew bool) *usage {
	before, err := m.rawTotal()
	never := errors.Is(err, tally.ErrVersion) || errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.EACCES)
	if renew && never {
		if err = m.account.Renew(); err == nil {
			before, err = m.rawTotal()
		}
	}
	if err != nil {
		s.o.Trace.Warn("account not read", "reason", err)
		return nil
	}
	return &before
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

// reserve decides whether something may be written. It never waits: while the
// total is above the limit, the evictor has not caught up and the put is
// dropped. So a total is never further above than by what was under way.
func (s *Store) reserve(m *meta) error {
	if s.o.MaxSize <= 0 {
		return nil
	}
	bytes, _, _, err := m.total()
	if err == nil && bytes > s.o.MaxSize {
		s.wakeEvictor()
		return fmt.Errorf("%d of %d bytes used: %w", bytes, s.o.MaxSize, store.ErrDropped)
	}
	return nil
}

// settle is called after a put: it wakes the evictor where there is work, or
// where nobody knows, since the account cannot be read.
func (s *Store) settle(m *meta) {
	bytes, _, counted, err := m.total()
	if err == nil && !counted || s.o.MaxSize > 0 && (err != nil || bytes > s.o.MaxSize) {
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
