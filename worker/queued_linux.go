package worker

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// queuedFor returns for how long the threads of a process were ready to run while others
// had the processor, of the one that waited longest; 0 where the system does not tell.
func queuedFor(pid int) (longest time.Duration) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, t := range threads {
		b, err := os.ReadFile(t)
		if err != nil {
			continue
		}
		var ran, queued time.Duration // nanoseconds
		if n, _ := fmt.Sscan(string(b), &ran, &queued); n == 2 {
			longest = max(longest, queued)
		}
	}
	return longest
}
