package runlog

import (
	"encoding/json"
	"time"
)

// Span is a request with when it was. A program that was in memory without waiting has none.
type Span struct {
	PID      int     `json:"pid"`
	Exe      string  `json:"exe,omitempty"`
	FrontEnd string  `json:"front_end,omitempty"`
	Key      string  `json:"key,omitempty"`
	Label    string  `json:"label,omitempty"`
	Outcome  Outcome `json:"outcome"`
	Reason   string  `json:"reason,omitempty"`

	Ended  time.Time     `json:"ended"`
	Waited time.Duration `json:"-"` // before Spent, for somebody else who compiled it
	Spent  time.Duration `json:"-"` // until Ended
}

// spanTimes are the times of a Span in JSON.
type spanTimes struct {
	WaitedMS float64 `json:"waiting_ms,omitzero"`
	SpentMS  float64 `json:"spent_ms"`
}

// MarshalJSON adds the times, in milliseconds.
func (s Span) MarshalJSON() ([]byte, error) {
	type span Span
	return json.Marshal(struct {
		span
		spanTimes
	}{span(s), spanTimes{millis(s.Waited), millis(s.Spent)}})
}

// UnmarshalJSON reads what MarshalJSON writes; times that nothing can have taken are none.
func (s *Span) UnmarshalJSON(b []byte) error {
	type span Span
	read := struct {
		*span
		spanTimes
	}{span: (*span)(s)}
	if err := json.Unmarshal(b, &read); err != nil {
		return err
	}
	s.Waited, s.Spent = max(duration(read.WaitedMS), 0), max(duration(read.SpentMS), 0)
	return nil
}

// span keeps a request, if there is room.
func (s *summer) span(e Event) {
	if e.Outcome == Memory && e.Waited == 0 || e.Ended.IsZero() { // of an earlier version
		return
	}
	if len(s.Timeline) >= maxDetails {
		s.MoreTimes++
		return
	}
	s.Timeline = append(s.Timeline, Span{
		PID: e.PID, Exe: e.Exe, FrontEnd: e.FrontEnd, Key: e.Key, Label: e.Label, Outcome: e.Outcome, Reason: e.Reason,
		Ended: e.Ended, Waited: e.Waited, Spent: max(e.Spent, 0),
	})
}
