//go:build unix

package worker

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store/disk"
)

// meet is a builder that has done its job when three were there at once. One that stays alone for so many times 50 ms gives up.
const meet = `: > "../../met.$$"
i=0
while [ $i -lt %d ]; do
	set -- ../../met.*
	[ $# -lt 3 ] || { echo '{"state": "stored"}' >&3; exit; }
	sleep 0.05
	i=$((i + 1))
done
rm "../../met.$$"
echo '{"state": "refused", "reason": "alone"}' >&3`

// TestJobsAtOnce: as many builds as there may be go on at once, and each job is done once.
func TestJobsAtOnce(t *testing.T) {
	t.Parallel()
	for jobs, want := range map[int]Status{0: {Refused: 1}, 3: {Done: 3}, 9: {Done: 3}} {
		t.Run(fmt.Sprint(jobs), func(t *testing.T) {
			t.Parallel()
			s := disk.New(disk.Options{Dir: filepath.Join(t.TempDir(), "root")})
			defer s.Close()
			for i := range want.Done + want.Refused {
				img, err := key.NewImage(key.OpenCLC, fmt.Appendf(nil, "kernel void k%d() {}", i))
				must(t, err)
				_, err = spool.Add(t.Context(), s, spool.Job{Kind: spool.Rebuild, Recipe: &key.Recipe{Device: key.Device{API: "fake"}, Image: img}}, nil)
				must(t, err)
			}
			patience := 600
			if jobs == 0 {
				patience = 10
			}
			st, err := Run(t.Context(), Options{Store: s, Command: []string{"/bin/sh", "-c", fmt.Sprintf(meet, patience)}, Once: true, Jobs: jobs, NormalPriority: true})
			must(t, err)
			if diff := cmp.Diff(want, Status{Done: st.Done, Refused: st.Refused, Kept: st.Kept, Building: st.Building, Waiting: st.Waiting}); diff != "" {
				t.Errorf("(-want +got):\n%s\n%+v", diff, st.Last)
			}
		})
	}
}
