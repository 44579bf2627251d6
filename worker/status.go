package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store/disk"
)

// Status is how the worker of a root is, or was when it ended. It is kept in the
// root, for those who ask.
type Status struct {
	Running bool      `json:"running"`
	PID     int       `json:"pid,omitempty"`  // in the worker's own name space
	Host    string    `json:"host,omitempty"` // where it runs or ran
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	End     string    `json:"end,omitempty"` // why it ended

	Building string    `json:"building,omitempty"` // the job that is being done
	Since    time.Time `json:"since,omitzero"`

	Done    int           `json:"done"`    // jobs that it did
	Refused int           `json:"refused"` // jobs that it dropped
	Kept    int           `json:"kept"`    // jobs that cannot be done here, or not now
	CPU     time.Duration `json:"-"`       // that builds took; cpu_ms

	Aged    time.Time       `json:"aged,omitzero"`      // when the root was last looked through for old entries
	Last    []Ended         `json:"last,omitempty"`     // jobs that ended, the newest first: of earlier workers, too
	GivenUp []spool.Refusal `json:"given_up,omitempty"` // jobs that no worker does again for two weeks, by the spool
	Waiting int             `json:"waiting"`            // jobs that there are, the one that is being done included
	Uploads int             `json:"uploads"`            // of these: what is built, and to be put into remotes
}

// Ended is a job that ended.
type Ended struct {
	Job    string        `json:"job"` // name in the spool
	State  string        `json:"state"`
	Reason string        `json:"reason,omitempty"`
	At     time.Time     `json:"at"`
	Took   time.Duration `json:"-"` // took_ms
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func ofMillis(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

type (
	plainStatus Status // without its methods
	plainEnded  Ended
)

// MarshalJSON writes times in milliseconds.
func (s Status) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		plainStatus
		CPU float64 `json:"cpu_ms"`
	}{plainStatus(s), millis(s.CPU)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Status) UnmarshalJSON(b []byte) error {
	var w struct {
		plainStatus
		CPU float64 `json:"cpu_ms"`
	}
	err := json.Unmarshal(b, &w)
	*s = Status(w.plainStatus)
	s.CPU = ofMillis(w.CPU)
	return err
}

// MarshalJSON writes times in milliseconds.
func (e Ended) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		plainEnded
		Took float64 `json:"took_ms"`
	}{plainEnded(e), millis(e.Took)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *Ended) UnmarshalJSON(b []byte) error {
	var w struct {
		plainEnded
		Took float64 `json:"took_ms"`
	}
	err := json.Unmarshal(b, &w)
	*e = Ended(w.plainEnded)
	e.Took = ofMillis(w.Took)
	return err
}

// maxLast bounds the jobs that are told.
const maxLast = 20

// count notes which jobs there are.
func (st *Status) count(jobs []spool.Entry) {
	st.Waiting, st.Uploads = len(jobs), 0
	for _, e := range jobs {
		if e.Kind() == spool.Upload {
			st.Uploads++
		}
	}
}

// Ask returns how the worker of a root is.
func Ask(ctx context.Context, s *disk.Store) (Status, error) {
	var st Status
	jobs, err := spool.List(ctx, s) // first: a job goes before the note says so
	if err != nil {
		return st, err
	}
	if st, err = note(s); err != nil && !errors.Is(err, os.ErrNotExist) {
		return st, err
	}
	switch running := s.HasWorker(); {
	case !running:
		st.Running, st.Building, st.Since = false, "", time.Time{}
	case !st.Running: // it has not said anything yet: that is of the one before it
		st = Status{Running: true, Aged: st.Aged, Last: st.Last}
	}
	st.count(jobs)
	st.GivenUp, err = spool.Refusals(ctx, s, maxLast)
	return st, err
}

// note returns what the last worker of a root said of itself.
func note(s *disk.Store) (st Status, err error) {
	b, _, err := s.ReadNote(disk.WorkerNote)
	if err == nil && json.Unmarshal(b, &st) != nil {
		st = Status{} // torn, or of another version
	}
	return st, err
}

// askEvery is how often a caller that waits looks again.
const askEvery = 100 * time.Millisecond

// What a worker may take to be seen that others have started a moment ago, and one
// that the caller has started, on a busy machine.
const (
	startTime    = time.Second
	ownStartTime = 10 * time.Second
)

// Who waits for a worker says so every sayEvery: builds are made at normal priority for that long after it, waitLasts.
const (
	sayEvery  = time.Second
	waitLasts = 5 * time.Second
)

// WaitOptions say how somebody waits for a worker.
type WaitOptions struct {
	// Start, which may be nil, is called once, if there are jobs and no worker runs. It
	// reports whether it has started one.
	Start func() bool

	// Nice leaves builds the lowest priority. Without it the worker makes them at its own: one that has begun at
	// the lowest, and gets no processor, is begun anew.
	Nice bool

	Progress func(Status) // called when something changed; may be nil
}

// Wait waits until there is no job left, or none that a worker will do: then no
// worker runs, and none has for a second. It returns what is left, as far as it knows where there is an error.
func Wait(ctx context.Context, s *disk.Store, o WaitOptions) (Status, error) {
	var last Status
	var said time.Time
	defer func() {
		if !said.IsZero() {
			s.RemoveNote(disk.WaitNote) // another who waits writes it anew
		}
	}()
	seen, maxWait := time.Now(), startTime // when a worker ran last, how long none may
	for first := true; ; first = false {
		st, err := Ask(ctx, s)
		if err != nil {
			return last, err
		}
		if o.Progress != nil && (first || st.Waiting != last.Waiting || st.Building != last.Building || st.Running != last.Running) {
			o.Progress(st)
		}
		if !o.Nice && st.Waiting > 0 && time.Since(said) >= sayEvery {
			said = time.Now()
			_ = s.PutNote(ctx, disk.WaitNote, nil) // without it the builds take longer
		}
		last = st
		switch {
		case st.Running:
			seen, maxWait = time.Now(), startTime
		case st.Waiting > 0 && o.Start != nil:
			if o.Start() {
				seen, maxWait = time.Now(), ownStartTime
			}
			o.Start = nil
		}
		// The last job is gone a moment before the worker has said what became of it.
		if st.Waiting == 0 && st.Building == "" || time.Since(seen) > maxWait {
			return st, nil
		}
		if err := sleep(ctx, askEvery); err != nil {
			return st, err
		}
	}
}

// Stop asks the worker to end, and waits until it has, or until ctx ends. The build that is
// under way is ended; its job stays. It is no error that there is no worker.
func Stop(ctx context.Context, s *disk.Store) (was bool, err error) {
	if !s.HasWorker() {
		return false, nil
	}
	if err := s.PutNote(ctx, disk.StopNote, nil); err != nil {
		return true, err
	}
	defer s.RemoveNote(disk.StopNote)
	for asked := time.Now(); s.HasWorker(); {
		if err := sleep(ctx, askEvery); err != nil {
			return true, fmt.Errorf("stop the worker: it does not end: %w", err)
		}
		if time.Since(asked) > time.Second { // of another one, or on a file system with a clock of its own
			_ = s.PutNote(ctx, disk.StopNote, nil)
			asked = time.Now()
		}
	}
	return true, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
