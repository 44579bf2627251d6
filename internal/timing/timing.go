// Package timing keeps tests that measure time, and those that take long, apart from the
// others: beside other tests the first would measure these, and nobody waits for the second.
package timing

import (
	"math/rand/v2"
	"os"
	"strconv"
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

// Seed returns the seed of a test that makes up its cases: TEST_SEED if it is set, else another one
// each time. It is logged. make sets it to the number of the commit: each commit meets other cases, and the same
// ones wherever it is tested.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("TEST_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 0, 64); err != nil {
			t.Fatalf("TEST_SEED: %v", err)
		}
	}
	t.Logf("TEST_SEED=%d", seed)
	return seed
}

// IsLong reports whether KERNSTASH_TEST_LONG is set: tests take their long forms.
func IsLong() bool { return os.Getenv("KERNSTASH_TEST_LONG") != "" }

// IsWhole reports whether KERNSTASH_TEST_LONG is "all": long forms take all their cases, for
// which CI has no time. Else they take a part of them, another one with another Seed.
func IsWhole() bool { return os.Getenv("KERNSTASH_TEST_LONG") == "all" }

// Cases returns how many cases a test makes up: in the short form, in the long one, and of IsWhole.
func Cases(short, long, whole int) int {
	switch {
	case IsWhole():
		return whole
	case IsLong():
		return long
	}
	return short
}
