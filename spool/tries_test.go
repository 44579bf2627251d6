package spool

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestMissing: what is known of machines is read again, is bounded, and costs no try.
func TestMissing(t *testing.T) {
	t.Parallel()
	noon := time.Unix(1_800_000_000, 0)
	tries := Tries{Begun: 3, Failed: 1}
	tries.Missing("one", noon)
	tries.Missing("two", noon.Add(time.Minute))
	tries.Missing("one", noon.Add(2*time.Minute))
	got := parseTries(tries.text())
	if got.Begun != 0 || got.Failed != 1 {
		t.Errorf("%+v", got)
	}
	for machine, want := range map[string]time.Time{"one": noon.Add(2 * time.Minute), "two": noon.Add(time.Minute)} {
		if since, is := got.MissingSince(machine); !is || !since.Equal(want) {
			t.Errorf("%s: %v, %v", machine, since, is)
		}
	}
	if since, is := got.MissingSince("three"); is {
		t.Errorf("three: %v", since)
	}
	// An earlier version counts its letters in the same text.
	if text := (&Tries{Begun: 2, Failed: 1, missing: tries.missing}).text(); strings.Count(text, "b") != 2 || strings.Count(text, "f") != 1 {
		t.Error(text)
	}
	for i := range 100 {
		tries.Missing(fmt.Sprint(i), noon)
	}
	tries.Begun, tries.Failed = 10_000, 10_000
	text := tries.text()
	got = parseTries(text)
	if _, is := got.MissingSince("99"); !is || len(text) > maxTries || len(got.missing) != maxMissing {
		t.Errorf("%d bytes, %d machines", len(text), len(got.missing))
	}
}

func TestParseTries(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "m", "m1", "m.", "m1.", "mx.1", "m1.x", "m-1.1", "\x00", "m99999999999999999999.1"} {
		if got := parseTries(text); got.Begun+got.Failed+len(got.missing) != 0 {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
