package worker

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// queue is for how long the threads of a builder were ready to run while others had the
// processor. It is safe for use by several goroutines.
type queue struct {
	mu    sync.Mutex
	pid   int
	turns map[string]turn // of the threads that were ready when they were last looked at
}

// turn is what a thread had had when it was looked at.
type turn struct {
	stat  [3]int64 // nanoseconds run and waited, and how often it was given a processor
	since time.Time
}

// watch tells which process it is about.
func (q *queue) watch(pid int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pid = pid
}

// look returns for how long the thread that waited longest has waited; 0 where the system
// does not tell, or there is no process yet.
//
// The system adds a wait up when it ends, and the one in which a builder is given up has
// not: a thread that is ready, and has had no turn since it was last looked at, has waited
// since. So somebody looks now and then.
func (q *queue) look() (longest time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.pid == 0 {
		return 0
	}
	now, turns := time.Now(), make(map[string]turn)
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", q.pid))
	for _, thread := range threads {
		b, err := os.ReadFile(filepath.Join(thread, "schedstat"))
		if err != nil {
			continue
		}
		t := turn{since: now}
		if _, err := fmt.Sscan(string(b), &t.stat[0], &t.stat[1], &t.stat[2]); err != nil {
			continue
		}
		waited := time.Duration(t.stat[1])
		if ready(thread) {
			if last := q.turns[thread]; last.stat == t.stat && !last.since.IsZero() {
				t.since = last.since
			}
			turns[thread] = t
			waited += now.Sub(t.since)
		}
		longest = max(longest, waited)
	}
	q.turns = turns
	return longest
}

// ready says whether a thread runs, or would.
func ready(thread string) bool {
	b, err := os.ReadFile(filepath.Join(thread, "stat"))
	if err != nil {
		return false
	}
	_, state, ok := bytes.Cut(b[max(0, bytes.LastIndexByte(b, ')')):], []byte(") "))
	return ok && bytes.HasPrefix(state, []byte("R"))
}
