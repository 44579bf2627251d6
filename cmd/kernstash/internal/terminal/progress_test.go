package terminal

import (
	"bytes"
	"testing"
	"time"
)

func TestCounted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		done, total int64
		took        time.Duration
		want        string
	}{
		{1, 0, 0, "read 1 entry"},
		{500, 0, time.Second / 2, "read 500 entries, 1000 a second"},
		{250, 1000, 10 * time.Second, "read 250 entries of about 1000, 25 %, 25 a second"},
		{1200, 1000, time.Second, "read 1200 entries of about 1200, 100 %, 1200 a second"},
	} {
		if got := counted("read", test.done, test.total, test.took); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

// TestProgressSaysWhatChanges: where nothing can be written over, what is said again
// and again is one line.
func TestProgressSaysWhatChanges(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	p := &Progress{w: &b, width: 80}
	for range 60 {
		p.Say("waiting")
	}
	p.Say("building")
	p.Say("waiting")
	p.Done()
	if got, want := b.String(), "waiting\nbuilding\nwaiting\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
