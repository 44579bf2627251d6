//go:build !nogpu

package layer_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/gpu/opencl/layer"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/runlog"
)

// Of threads that ask at once for a program that is not there, each is told why it was
// compiled: the first that it is not there, the others that the first was at it.
func TestThreadsAtOnceHaveReasons(t *testing.T) {
	report := filepath.Join(t.TempDir(), "report")
	if err := os.WriteFile(report, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(runlog.Variable, report)
	l := openLayer(t, filepath.Join(t.TempDir(), "root"))
	h := newHost(t, l, device(t, "POCL"))
	const threads = 3
	for range 2 { // the second time there is a job, and still no artifact
		var open []*layer.Ticket
		for range threads {
			ticket, _ := begun(t, h, h.request(source(1), &none))
			open = append(open, ticket)
		}
		for _, ticket := range open {
			if r, ok := ticket.Next([]layer.Outcome{{Result: front.Built}}); !ok || r.Action != front.Done {
				t.Errorf("reply %+v, %v", r, ok)
			}
			ticket.End()
		}
		l.Cache.Flush(3 * time.Minute) // decisions are told when what they are of is
		l.Settle()
	}
	f, err := os.Open(report)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := runlog.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]int)
	for _, p := range s.Programs {
		got[string(p.Outcome)+": "+p.Reason] += p.Requests
	}
	want := map[string]int{"compiled: miss.absent": 2, "compiled: another thread was building it": 2 * (threads - 1)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}
