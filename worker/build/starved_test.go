//go:build linux && !nogpu

package build_test

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/spool"
)

// TestStarvedCompiler: a compiler that took too long because others had the processor,
// for which it makes way, is not to blame: the job stays.
func TestStarvedCompiler(t *testing.T) {
	t.Parallel()
	s := newRoot(t)
	add(t, s, handMade(t, small, smallVariant))
	o := options(t, s, "spin")
	o.NormalPriority, o.Limit = false, 2*time.Second
	for range 2 * runtime.NumCPU() {
		cmd := exec.Command("/bin/sh", "-c", "while :; do :; done")
		must(t, cmd.Start())
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	}
	st := work(t, o)
	if st.Kept != 1 || st.Waiting != 1 || len(st.Last) != 1 || st.Last[0].State != "elsewhere" || !strings.HasPrefix(st.Last[0].Reason, "others had the processor for ") {
		t.Fatalf("%+v", st)
	}
	jobs, err := spool.List(bg, s)
	must(t, err)
	if tries := spool.ReadTries(bg, s, &jobs[0]); tries.Failed != 0 {
		t.Errorf("it counts as the compiler's failure: %+v", tries)
	}
}
