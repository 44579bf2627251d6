package spool

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

// TestMissing: what is known of machines is read again, is bounded, and costs no try.
func TestMissing(t *testing.T) {
	t.Parallel()
	again := func(tries Tries) (got Tries, bytes int) {
		b, err := json.Marshal(tries)
		if err == nil {
			err = json.Unmarshal(b, &got)
		}
		if err != nil {
			t.Fatal(err)
		}
		return got, len(b)
	}
	noon := time.Unix(1_800_000_000, 0)
	tries := Tries{Begun: 3, Failed: 1}
	tries.Missing("one", noon)
	tries.Missing("two", noon.Add(time.Minute))
	tries.Missing("one", noon.Add(2*time.Minute))
	got, _ := again(tries)
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
	for i := range 100 {
		tries.Missing(fmt.Sprint(i), noon)
	}
	tries.Begun, tries.Failed = 10_000, 10_000
	got, size := again(tries)
	if _, is := got.MissingSince("99"); !is || size > maxTries || len(got.Machines) != maxMachines {
		t.Errorf("%d bytes, %d machines", size, len(got.Machines))
	}
}

// What is damaged, or was written by an earlier version, says nothing.
func TestReadTries(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "bbf", "m1.1 b", "{", "[]", `{"begun":"1"}`, "\x00"} {
		if got := parseTries([]byte(text)); got.Begun+got.Failed+len(got.Machines) != 0 {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
