//go:build linux && !nogpu

package build_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

const intelICD = "/etc/OpenCL/vendors/intel.icd"

func init() { roles["intel"] = intelRole }

// intelRole adds a job for the device that this process's environment makes of
// Intel's driver: its root.
func intelRole(args []string) int {
	err := func() error {
		devices, err := opencl.Devices(opencl.AnyType)
		if err != nil || len(devices) == 0 {
			return fmt.Errorf("%d devices, %w", len(devices), err)
		}
		id, err := devices[0].Identify()
		if err != nil {
			return err
		}
		image, err := key.NewImage(key.OpenCLC, []byte(small))
		if err != nil {
			return err
		}
		r := &key.Recipe{Device: id, Image: image, Options: key.BuildOptions{Absent: true, Variables: devices[0].Variables()}}
		s := disk.New(disk.Options{Dir: args[0]})
		defer s.Close()
		_, err = spool.Add(bg, s, spool.Job{
			Kind: spool.Rebuild, Recipe: r, Cost: time.Second, Environment: spool.Take(os.Environ(), r, args[0]),
		}, nil)
		return err
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// TestRebuildForIntel: a driver whose device there is only by its variables, which
// are the job's and not the worker's, and whose code is final.
func TestRebuildForIntel(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(intelICD); err != nil {
		t.Fatalf("no %s: apt-get install intel-opencl-icd, or set %s=1 to go without", intelICD, withoutOpenCL)
	}
	s := newRoot(t)
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self, "intel", s.Dir())
	cmd.Dir = t.TempDir() // it writes .aub files
	cmd.Env = []string{
		"HOME=" + os.Getenv("HOME"), "OCL_ICD_VENDORS=" + intelICD,
		"NEOReadDebugKeys=1", "SetCommandStreamReceiver=1", "ProductFamilyOverride=tgllp",
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	st := work(t, options(t, s, "builder"))
	if st.Done != 1 || st.Last[0].State != "stored" {
		t.Fatalf("%+v", st)
	}
	for info, err := range s.List(bg) {
		must(t, err)
		e, err := s.Get(bg, info.Key)
		must(t, err)
		if b := e.Artifact.Binaries; len(b) != 1 || b[0].Form != store.FormFinal || len(e.Artifact.Kernels) != 1 {
			t.Errorf("%d binaries, kernels %v", len(b), e.Artifact.Kernels)
		}
	}
	if left, err := filepath.Glob(filepath.Join(s.Dir(), ".meta/work/*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
