package s3_test

import (
	"testing"

	"github.com/kernstash/kernstash/internal/servers"
)

// swallow returns an address whose packets nobody answers.
func swallow(t *testing.T) string { return servers.BlackHole(t) }
