package runlog

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestTimeline: each request that took time is there with its times, also after its way through JSON.
func TestTimeline(t *testing.T) {
	t.Parallel()
	l, path := newLog(t)
	at := time.Date(2026, 11, 26, 12, 0, 0, 123456000, time.UTC)
	asked := Event{Kind: Asked, PID: 3, Exe: "/bin/x", FrontEnd: "f", Key: "ab", Label: "k", Outcome: Disk, Ended: at, Waited: time.Second, Spent: 2 * time.Millisecond}
	inMemory := Event{Kind: Asked, PID: 3, Outcome: Memory}
	waited := Event{Kind: Asked, PID: 3, Outcome: Memory, Ended: at, Waited: time.Second}
	for _, e := range []Event{asked, inMemory, waited} {
		if err := l.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Read(open(t, path))
	if err != nil {
		t.Fatal(err)
	}
	want := []Span{
		{PID: 3, Exe: "/bin/x", FrontEnd: "f", Key: "ab", Label: "k", Outcome: Disk, Ended: at, Waited: time.Second, Spent: 2 * time.Millisecond},
		{PID: 3, Outcome: Memory, Ended: at, Waited: time.Second},
	}
	if diff := cmp.Diff(want, s.Timeline); diff != "" {
		t.Error(diff)
	}
	b, err := json.Marshal(s.Timeline)
	if err != nil {
		t.Fatal(err)
	}
	var again []Span
	if err := json.Unmarshal(b, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, again); diff != "" {
		t.Errorf("%s\n%s", diff, b)
	}
}

// TestWriteSaysWhen: an event without a time is of now.
func TestWriteSaysWhen(t *testing.T) {
	t.Parallel()
	l, path := newLog(t)
	before := time.Now()
	if err := l.Write(Event{Kind: Asked, Outcome: Disk}); err != nil {
		t.Fatal(err)
	}
	s, err := Read(open(t, path))
	if err != nil || len(s.Timeline) != 1 {
		t.Fatalf("%v, %v", s.Timeline, err)
	}
	if got := s.Timeline[0].Ended; got.Before(before.Round(0)) || got.After(time.Now()) {
		t.Errorf("%v, which is not after %v", got, before)
	}
}

// TestTimelineIsBounded: of requests beyond the bound their number is told.
func TestTimelineIsBounded(t *testing.T) {
	t.Parallel()
	line := `{"event":"asked","pid":1,"outcome":"disk","spent_ms":1,"ended":"2026-11-26T12:00:00Z"}` + "\n"
	s, err := Read(strings.NewReader(strings.Repeat(line, maxDetails+7)))
	if err != nil || len(s.Timeline) != maxDetails || s.MoreTimes != 7 {
		t.Errorf("%d, and %d more, %v", len(s.Timeline), s.MoreTimes, err)
	}
}

// TestTimesThatMakeNoSense: what no request can have taken is none.
func TestTimesThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for _, ms := range []string{"-5", "1e300"} {
		var s Span
		text := fmt.Sprintf(`{"pid":1,"outcome":"disk","ended":"2026-11-26T12:00:00Z","waiting_ms":%s,"spent_ms":%[1]s}`, ms)
		if err := json.Unmarshal([]byte(text), &s); err != nil || s.Waited != 0 || s.Spent != 0 {
			t.Errorf("%s: %+v, %v", ms, s, err)
		}
	}
}
