//go:build linux && !nogpu

package build_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/kernstash/kernstash/spool"
)

// TestSaysThatTheDiskIsFull: a job that says so where there is room is tried again, and not
// for ever.
func TestSaysThatTheDiskIsFull(t *testing.T) {
	t.Parallel()
	s := newRoot(t)
	add(t, s, handMade(t, small, smallVariant))
	jobs, err := spool.List(bg, s)
	must(t, err)
	must(t, spool.WriteTries(bg, s, &jobs[0], spool.Tries{Begun: 18}))
	o := shell(t, options(t, s, ""), "echo Read-only file system >&2\nexit 1\n")
	for i, want := range []int{0, 0, 1} {
		if st := work(t, o); st.Refused != want {
			t.Fatalf("worker %d: %+v", i, st)
		}
	}
}

// TestFullDisk: a program is not given up because the disk is full, be it before the
// compiler starts or while it works, and however often; it is built when there is room
// again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	must(t, err)
	for name, before := range map[string]bool{"before": true, "meanwhile": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=32m,mode=700"); err != nil {
				if errors.Is(err, unix.EPERM) {
					t.Skip("NOT TESTED: mounting a small file system needs root")
				}
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
			s := open(t, filepath.Join(dir, "root"))
			add(t, s, handMade(t, small, smallVariant))
			jobs, err := spool.List(bg, s)
			must(t, err)
			must(t, spool.WriteTries(bg, s, &jobs[0], spool.Tries{Begun: 18}))
			filler := filepath.Join(dir, "filler")
			o := shell(t, options(t, s, ""), fmt.Sprintf(
				"left=$(df --output=avail -B1 . | tail -1)\nhead -c $((left - 100000)) /dev/zero >%s\nexec %s builder %s\n", filler, self, s.Dir()))
			if before {
				must(t, os.WriteFile(filler, make([]byte, 31<<20), 0o600))
			}
			for range 3 {
				st := work(t, o)
				if st.Refused != 0 || st.Done != 0 {
					t.Fatalf("%+v", st)
				}
				if !before && (len(st.Last) == 0 || st.Last[0].State != "elsewhere" || !strings.Contains(st.Last[0].Reason, "No space left on device")) {
					t.Errorf("%+v", st)
				}
				if !before {
					must(t, os.Remove(filler))
				}
			}
			_ = os.Remove(filler)
			if st := work(t, options(t, s, "builder")); st.Done != 1 || st.Waiting != 0 {
				t.Errorf("with room: %+v", st)
			}
		})
	}
}
