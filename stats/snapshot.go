package stats

import (
	"encoding/json"
	"time"
)

// Snapshot holds the totals of one moment, indexed by [Counter].
type Snapshot [NumCounters]int64

// Get returns one total.
func (s Snapshot) Get(c Counter) int64 { return s[c] }

// Duration returns one of the totals that are nanoseconds.
func (s Snapshot) Duration(c Counter) time.Duration { return time.Duration(s[c]) }

// Sub returns what was counted between before and s.
func (s Snapshot) Sub(before Snapshot) Snapshot {
	for i := range s {
		s[i] -= before[i]
	}
	return s
}

// Plus returns the sums of s and other.
func (s Snapshot) Plus(other Snapshot) Snapshot {
	for i := range s {
		s[i] += other[i]
	}
	return s
}

// MarshalJSON writes an object of counter names and totals; zeros are left
// out.
func (s Snapshot) MarshalJSON() ([]byte, error) {
	m := make(map[string]int64)
	for i, n := range s {
		if n != 0 {
			m[Counter(i).String()] = n
		}
	}
	return json.Marshal(m)
}

// UnmarshalJSON reads what MarshalJSON wrote; unknown names are ignored.
func (s *Snapshot) UnmarshalJSON(b []byte) error {
	var m map[string]int64
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	*s = Snapshot{}
	for i := range s {
		s[i] = m[Counter(i).String()]
	}
	return nil
}
