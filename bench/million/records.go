package main

import (
	"fmt"
	"time"

	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/store/disk"
)

// recorded has a hit recorded of every entry, by one of a hundred applications, and merged as it goes: a file of
// records that nobody reads is removed by the ninth after it.
func recorded(t *table, root, _, command string, n int) error {
	const batch = 4 << 20 // bytes that are merged at a time
	s := disk.New(disk.Options{Dir: root, Records: true})
	defer s.Close()
	var merged measured
	merge := func() (err error) {
		m, err := measure(command, "--dir", root, "why")
		merged.all += m.all
		merged.peak = max(merged.peak, m.peak)
		return err
	}
	start, now := time.Now(), time.Now()
	waiting := 0
	for from := 0; from < n; from += 1000 {
		lines := []byte("\n")
		for i := from; i < min(from+1000, n); i++ {
			e, err := entry(i)
			if err != nil {
				return err
			}
			l := records.Line{
				Kind: records.Hits, At: now.Add(-time.Duration(i) * time.Second), Since: now.Add(-time.Duration(2*i) * time.Second),
				App: fmt.Sprintf("app%02d", i%100), Entry: records.EntryOf(e.Key), Hits: int64(i%7 + 1), Saved: e.Artifact.Cost, Label: "k",
			}
			lines = l.Append(lines)
		}
		if err := s.AppendRecords(lines); err != nil {
			return err
		}
		if waiting += len(lines); waiting > batch {
			waiting = 0
			if err := merge(); err != nil {
				return err
			}
		}
	}
	if err := merge(); err != nil {
		return err
	}
	t.line("records of all entries, merged", fmt.Sprintf("%s, %.0f a second", short(time.Since(start)), float64(n)/time.Since(start).Seconds()), "", true)
	t.line("merging records: memory", fmt.Sprintf("%d MiB", merged.peak>>10), "", true)
	return nil
}

// waiting measures stat while the records of 3,000 hits wait to be merged.
func waiting(t *table, root, _, command string, n int) error {
	s := disk.New(disk.Options{Dir: root, Records: true})
	defer s.Close()
	lines := []byte("\n")
	for i := range 3000 {
		e, err := entry(i % n)
		if err != nil {
			return err
		}
		l := records.Line{Kind: records.Hits, At: time.Now(), Since: time.Now(), App: "app07", Entry: records.EntryOf(e.Key), Hits: 1, Saved: e.Artifact.Cost, Label: "k"}
		lines = l.Append(lines)
	}
	if err := s.AppendRecords(lines); err != nil {
		return err
	}
	const bar = 50 * time.Millisecond
	m, err := measure(command, "--dir", root, "stat")
	if err != nil {
		return err
	}
	for range 14 { // the machine may be busy; and who asks for its memory slows it
		start := time.Now()
		if err := commandOf(command, "--dir", root, "stat").Run(); err != nil {
			return err
		}
		m.all = min(m.all, time.Since(start))
	}
	t.line("stat, 3,000 records waiting", short(m.all), "≤ "+short(bar), m.all <= bar)
	t.memory("stat, 3,000 records waiting", m.peak)
	merged, err := measure(command, "--dir", root, "why")
	if err != nil {
		return err
	}
	t.line("merging them", short(merged.all), "", true)
	t.memory("merging them", merged.peak)
	return nil
}
