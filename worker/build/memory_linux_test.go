//go:build linux && !nogpu

package build_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/kernstash/kernstash/internal/timing"
)

// TestCompilerWithoutMemory: a compiler that runs out of memory, be it in Go, in the
// loader or in LLVM, is not to blame: the job stays, and is done where there is enough.
func TestCompilerWithoutMemory(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	must(t, err)
	for _, megabytes := range []int{500, 900, 1300, 2000} {
		t.Run(fmt.Sprint(megabytes), func(t *testing.T) {
			t.Parallel()
			if megabytes != 900 {
				timing.Long(t)
			}
			s := newRoot(t)
			add(t, s, handMade(t, source, smallVariant))
			o := shell(t, options(t, s, ""), fmt.Sprintf("ulimit -v %d000\nexec %s builder %s\n", megabytes, self, s.Dir()))
			for range 2 {
				st := work(t, o)
				if st.Refused != 0 || st.Done+st.Waiting != 1 {
					t.Fatalf("%+v", st)
				}
			}
			// Whether it is a launch of one of its kernels is no matter here.
			if st := work(t, options(t, s, "builder")); st.Waiting != 0 {
				t.Errorf("with memory: %+v", st)
			}
		})
	}
}
