//go:build !nogpu

package layer_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/gpu/opencl/layer"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
)

// TestFinish: of what a driver assembles again at each load, as NVIDIA's does, machine code is left to a worker, unless the program
// took less than min-build-time to build: then nothing is kept, and there is nothing to finish. Here is Intel's driver, as if it were
// NVIDIA's.
func TestFinish(t *testing.T) {
	for _, test := range []struct {
		least string
		want  []spool.Kind
		puts  int64
	}{
		{"0", []spool.Kind{spool.Finish}, 1},
		{"1h", nil, 0},
	} {
		t.Run(test.least, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "root")
			o := at(root)
			o.Settings.Program["min-build-time"] = test.least
			l, err := layer.Open(o)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			h := newHost(t, l, device(t, "INTEL"))
			r := h.request(source(1), &none)
			ticket, reply := begun(t, h, r)
			defer ticket.End()
			ticket.AsNVIDIA()
			p := &program{how: make([]string, 1), binaries: make([][]byte, 1)}
			for ok := true; len(reply.Artifacts) > 0; {
				reply, ok = ticket.Next([]layer.Outcome{h.one(p, 0, r, reply.Artifacts[0])})
				for !ok {
					reply, ok = ticket.Wait(time.Second)
				}
			}
			if fmt.Sprint(p.how) != "[built]" {
				t.Fatal(p.how, p.err)
			}
			l.Settle()
			if got := l.Cache.Stats()[stats.DiskPuts]; got != test.puts {
				t.Errorf("%d puts, want %d", got, test.puts)
			}
			s := disk.New(disk.Options{Dir: root})
			defer s.Close()
			jobs, err := spool.List(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			var kinds []spool.Kind
			for _, j := range jobs {
				kinds = append(kinds, j.Kind())
			}
			if diff := cmp.Diff(test.want, kinds); diff != "" {
				t.Error(diff)
			}
		})
	}
}
