// Package timing keeps tests that measure time, and those that take long, apart from the
// others: beside other tests the first would measure these, and nobody waits for the second.
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

// Long skips a test that takes many seconds, unless KERNSTASH_TEST_LONG is set, as
// `make test-full` does.
func Long(t testing.TB) {
	t.Helper()
	if !IsLong() {
		t.Skip("takes long: make test-full runs it, as does KERNSTASH_TEST_LONG=1")
	}
}

// IsLong reports whether KERNSTASH_TEST_LONG is set: tests take their long forms.
func IsLong() bool { return os.Getenv("KERNSTASH_TEST_LONG") != "" }
