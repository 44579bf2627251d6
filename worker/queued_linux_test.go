package worker

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A wait that has not ended counts: the system adds it up when it has. The process that
// waits shares one processor with one that is never in the mood to go.
func TestQueueCountsTheWaitUnderWay(t *testing.T) {
	t.Parallel()
	spin := func(command ...string) int {
		cmd := exec.Command(command[0], command[1:]...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return cmd.Process.Pid
	}
	const loop = "while :; do :; done"
	var self unix.CPUSet
	if err := unix.SchedGetaffinity(0, &self); err != nil {
		t.Fatal(err)
	}
	var one unix.CPUSet
	for cpu := 0; one.Count() == 0; cpu++ {
		if self.IsSet(cpu) {
			one.Set(cpu)
		}
	}
	waits := spin("chrt", "-i", "0", "/bin/sh", "-c", loop)
	for _, pid := range []int{waits, spin("/bin/sh", "-c", loop)} {
		if err := unix.SchedSetaffinity(pid, &one); err != nil {
			t.Fatal(err)
		}
	}
	q := new(queue)
	if got := q.look(); got != 0 {
		t.Errorf("without a process: %v", got)
	}
	q.watch(waits)
	said := func() string {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", waits))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	// For as long as the system says nothing new of it, it waits.
	const long = 100 * time.Millisecond
	before, at := said(), time.Now()
	waited := q.look()
	for end := at.Add(3 * time.Minute); ; time.Sleep(long / 10) {
		got, now := q.look(), time.Now()
		if s := said(); s != before {
			before, at, waited = s, time.Now(), q.look()
		} else if took := now.Sub(at); took > long {
			if got-waited < took/2 {
				t.Errorf("it waited for %v of %v more", got-waited, took)
			}
			break
		}
		if now.After(end) {
			t.Fatal("it never waited for long")
		}
	}

	rests := new(queue)
	rests.watch(spin("/bin/sleep", "60"))
	rests.look()
	time.Sleep(2 * time.Second)
	if got := rests.look(); got > time.Second {
		t.Errorf("one that sleeps waited for %v", got)
	}
}
