package deps

import (
	"github.com/kernstash/kernstash/key"
)

// Before returns u with what it read when m was made, whether that still holds
// or not: for those who want to know what changed.
func (m *Manifest) Before(u key.Unit) key.Unit { return m.unit(u) }
