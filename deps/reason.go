package deps

import "github.com/kernstash/kernstash/reason"

// Reason says why a build cannot be cached.
type Reason = reason.Uncacheable
