// Package timing keeps tests that measure time apart from those that do not:
// beside other tests they would measure these.
package timing

import (
	"os"
	"testing"
)

// Only skips a test that compares times, unless KERNSTASH_TEST_TIMING is set, as
// `make test-timing` does, which runs one such test at a time and nothing beside
// it. The names of such tests begin with TestTiming: that is how they are found.
// The bars of these tests are those that are promised, not wider ones.
func Only(t testing.TB) {
	t.Helper()
	if os.Getenv("KERNSTASH_TEST_TIMING") == "" {
		t.Skip("compares times, which needs the machine for itself: make test-timing runs it")
	}
}
