// Package build is the process that does one job of the spool: it reads the job, has the
// builder of its API do it, and says what became of it. Package worker starts such
// processes.
package build

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/worker"
)

// outcomeDescriptor is where a builder says how it ended.
const outcomeDescriptor = 3

// Do does a job, in this process's environment, which must be the job's, and stores what it
// makes. dir is a directory of its own: what it leaves there is the caller's to remove. It
// may change the working directory.
type Do func(ctx context.Context, s *disk.Store, j *spool.Job, dir string) spool.Outcome

// Main is the whole of a process that package worker starts: it reads a job from
// standard input, does it in its working directory, which is its own, by what do has for
// its API, and says the outcome on descriptor 3. It returns the exit status. The process
// ends when its standard input does, since then the worker has ended.
func Main(s *disk.Store, do map[string]Do) int {
	begin()
	out := os.NewFile(outcomeDescriptor, "outcome")
	dir, err := os.Getwd()
	if _, statErr := out.Stat(); statErr != nil || err != nil {
		fmt.Fprintln(os.Stderr, "kernstash: this is for 'kernstash worker run' to call")
		return 2
	}
	o, err := one(s, do, dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "kernstash:", err)
		return 1
	}
	if err := json.NewEncoder(out).Encode(o); err != nil {
		return 1
	}
	return 0
}

func one(s *disk.Store, do map[string]Do, dir string) (spool.Outcome, error) {
	var n uint64
	if err := binary.Read(os.Stdin, binary.LittleEndian, &n); err != nil {
		return spool.Outcome{}, fmt.Errorf("read the job: %w", err)
	}
	if n > format.MaxJob {
		return spool.Outcome{}, fmt.Errorf("read the job: it has %d bytes", n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(os.Stdin, b); err != nil {
		return spool.Outcome{}, fmt.Errorf("read the job: %w", err)
	}
	go orphaned()
	j, err := spool.Parse(b)
	if err != nil {
		return spool.Outcome{State: spool.JobRefused, Reason: err.Error()}, nil
	}
	api := j.Recipe.Device.API
	if do[api] == nil {
		return spool.Outcome{State: spool.JobElsewhere, Missing: true, Reason: fmt.Sprintf("there is no builder for %q", api)}, nil
	}
	return do[api](context.Background(), s, j, dir), nil
}

// begin makes this process one that holds nothing and stands in nobody's way.
func begin() {
	worker.CloseInherited(outcomeDescriptor + 1)
	yield()
}

// orphaned ends the process when its worker has ended. What a driver has started is
// ended too, being of its group.
func orphaned() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	killGroup()
	time.Sleep(time.Second)
	os.Exit(1)
}
