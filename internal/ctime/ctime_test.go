package ctime

import (
	"testing"
	"time"
)

func TestADeviceIsAskedOnce(t *testing.T) {
	t.Parallel()
	asked, trusted := 0, true
	c := cache{ask: func(string, uint64) bool { asked++; return trusted }}
	begin := time.Now()
	for i := range 1000 {
		if !c.trusted("/x", 7, begin.Add(time.Duration(i)*time.Microsecond)) {
			t.Fatal("not trusted")
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	trusted = false // something else is mounted there now
	if c.trusted("/x", 7, begin.Add(2*time.Second)) {
		t.Error("an old answer holds")
	}
	if asked != 2 {
		t.Errorf("asked %d times", asked)
	}
}
