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

// Main is the whole of a process that package worker starts: it reads a job from
// standard input, does it in its working directory, which is its own, and says the
// outcome on descriptor 3. It returns the exit status. The process ends when its standard input does, since then the worker has ended.
func Main(s *disk.Store) int { return main(s, 0) }

// main is Main; delay is for tests.
func main(s *disk.Store, delay time.Duration) int {
	begin()
	out := os.NewFile(outcomeDescriptor, "outcome")
	dir, err := os.Getwd()
	if _, statErr := out.Stat(); statErr != nil || err != nil {
		fmt.Fprintln(os.Stderr, "kernstash: this is for 'kernstash worker run' to call")
		return 2
	}
	o, err := one(s, dir, delay)
	if err != nil {
		fmt.Fprintln(os.Stderr, "kernstash:", err)
		return 1
	}
	if err := json.NewEncoder(out).Encode(o); err != nil {
		return 1
	}
	return 0
}

func one(s *disk.Store, dir string, delay time.Duration) (Outcome, error) {
	var size [8]byte
	if _, err := io.ReadFull(os.Stdin, size[:]); err != nil {
		return Outcome{}, fmt.Errorf("read the job: %w", err)
	}
	n := binary.LittleEndian.Uint64(size[:])
	if n > format.MaxJob {
		return Outcome{}, fmt.Errorf("read the job: it has %d bytes", n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(os.Stdin, b); err != nil {
		return Outcome{}, fmt.Errorf("read the job: %w", err)
	}
	go orphaned()
	j, err := spool.Parse(b)
	if err != nil {
		return Outcome{State: Refused, Reason: err.Error()}, nil
	}
	time.Sleep(delay)
	return Do(context.Background(), s, j, dir), nil
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
