package settings

import (
	"encoding/hex"
	"hash/fnv"
)

// Said is a variable with which a process says that what cannot be used of the settings
// was said: those that it starts need not say it again.
const Said = prefix + "SAID"

// Unsaid returns the warnings that Loud reports, unless a process that started this one
// has said them.
func (s *Settings) Unsaid() []error {
	if s.said == s.SaidValue() {
		return nil
	}
	return s.loud()
}

func (s *Settings) loud() (all []error) {
	for _, w := range s.Warnings {
		if Loud(w) {
			all = append(all, w)
		}
	}
	return all
}

// SaidValue returns the value that Said has after the warnings were said; "" if there
// are none.
func (s *Settings) SaidValue() string {
	all := s.loud()
	if len(all) == 0 {
		return ""
	}
	// `kernstash run` starts faster without the packages that cryptography brings along.
	h := fnv.New64a()
	for _, w := range all {
		h.Write([]byte(w.Error()))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))
}
