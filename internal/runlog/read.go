package runlog

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// maxDetails is how many programs, processes and reasons a Summary tells apart; it counts others.
const maxDetails = 4096

// Summary is what a file says. Its sums are of all lines that could be read.
type Summary struct {
	Processes int      `json:"processes"`  // that a front end was in, or whose front end stayed out
	FrontEnds []Count  `json:"front_ends"` // loaded, by front end
	Out       []Count  `json:"stayed_out"` // processes whose front end stayed out, by reason
	Outcomes  Outcomes `json:"programs"`   // requests for programs

	Spent    time.Duration `json:"-"` // on all requests
	Compiled time.Duration `json:"-"` // compiling, where programs that a process compiles at once share the time
	Saved    time.Duration `json:"-"`
	Bytes    int64         `json:"bytes"` // of the artifacts that were restored

	Compiles []Count `json:"compiled_because"` // requests that were compiled, by what differs from the nearest entry, else by reason
	Passes   []Count `json:"passed_because"`   // requests that were passed through, by reason
	Failures []Count `json:"failed_because"`   // requests that the compiler refused, by reason

	Layers []Count `json:"from_layers,omitempty"` // of requests found on disk, those in read-only layers and in remotes, by directory or name

	Uses []Use `json:"uses"` // by front end and compiler, those that took longest first

	Observations `json:"observed"`

	Jobs int `json:"worker_jobs"` // recipes left for the worker, each once

	Programs []Program `json:"requests"`                // what was asked for, each once, in order; at most some thousands
	More     int       `json:"requests_more,omitempty"` // programs beyond that

	Timeline  []Span `json:"timeline"`                // requests that took time, as they ended; at most some thousands
	MoreTimes int    `json:"timeline_more,omitempty"` // requests beyond that

	Garbage int  `json:"lines_not_understood,omitempty"` // lines that are no event
	Cut     bool `json:"report_incomplete,omitempty"`    // the file was full, or too large to read: there was more
}

// Observations are what mode observe found.
type Observations struct {
	WouldHit  int `json:"would_hit"` // requests that an entry was there for
	Equal     int `json:"equal"`     // of those, whose build made the same
	Different int `json:"different"` // of those, whose build made something else
}

// Outcomes counts requests.
type Outcomes struct {
	Asked    int `json:"asked"` // all of the following
	Memory   int `json:"memory"`
	Disk     int `json:"disk"`
	Compiled int `json:"compiled"`
	Passed   int `json:"passed"`
	Failed   int `json:"failed"`
}

// Count is how often something was.
type Count struct {
	What string `json:"what"`
	N    int    `json:"n"`
}

// Program is a program with how requests for it ended.
type Program struct {
	Key      string   `json:"key,omitempty"`
	Label    string   `json:"label,omitempty"`
	Outcome  Outcome  `json:"outcome"`
	Reason   string   `json:"reason,omitempty"`
	Nearest  string   `json:"nearest,omitempty"`
	Observed Observed `json:"observed,omitempty"`
	Layer    string   `json:"layer,omitempty"`

	Requests int           `json:"times"`
	Spent    time.Duration `json:"-"` // of all requests
	Saved    time.Duration `json:"-"`
	Bytes    int64         `json:"bytes,omitempty"` // of one artifact
}

// MarshalJSON adds the times, in milliseconds.
func (p Program) MarshalJSON() ([]byte, error) {
	type program Program
	return json.Marshal(struct {
		program
		SpentMS float64 `json:"spent_ms"`
		SavedMS float64 `json:"saved_ms"`
	}{program(p), millis(p.Spent), millis(p.Saved)})
}

// UnmarshalJSON reads what MarshalJSON writes; times that nothing can have taken are none.
func (p *Program) UnmarshalJSON(b []byte) error {
	type program Program
	read := struct {
		*program
		SpentMS float64 `json:"spent_ms"`
		SavedMS float64 `json:"saved_ms"`
	}{program: (*program)(p)}
	if err := json.Unmarshal(b, &read); err != nil {
		return err
	}
	p.Spent, p.Saved = max(duration(read.SpentMS), 0), duration(read.SavedMS)
	return nil
}

// Read sums up what r holds, of which it reads MaxSize bytes at most. The error
// is that of r; the Summary holds what was read before it.
func Read(r io.Reader) (*Summary, error) { return read(r, MaxSize) }

func read(r io.Reader, most int64) (*Summary, error) {
	limited := &io.LimitedReader{R: r, N: most}
	b := bufio.NewReaderSize(limited, MaxLine)
	s := &summer{
		Summary:   Summary{Programs: []Program{}, Timeline: []Span{}},
		processes: make(map[int]bool), frontEnds: make(map[string]int), out: make(map[string]int),
		compiles: make(map[string]int), passes: make(map[string]int), failures: make(map[string]int),
		layers:   make(map[string]int),
		programs: make(map[Program]int), uses: make(map[string]*using), jobs: make(map[string]bool), loaded: make(map[in]bool),
	}
	for {
		text, err := b.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			s.Garbage++
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = b.ReadSlice('\n')
			}
		case len(text) > 0:
			s.line(bytes.TrimSuffix(text, []byte("\n")))
		}
		if err != nil {
			s.Cut = limited.N < 2*MaxLine // the writers stop before the end
			if errors.Is(err, io.EOF) {
				return s.sum(), nil
			}
			return s.sum(), fmt.Errorf("read the report: %w", err)
		}
	}
}

// in is a front end in a process.
type in struct {
	pid      int
	frontEnd string
}

// summer is a Summary in the making.
type summer struct {
	Summary
	processes                                          map[int]bool
	frontEnds, out, compiles, passes, failures, layers map[string]int
	programs                                           map[Program]int // index, by all but the sums
	uses                                               map[string]*using
	jobs                                               map[string]bool // by key
	loaded                                             map[in]bool
}

func (s *summer) line(b []byte) {
	if len(bytes.TrimSpace(b)) == 0 {
		return
	}
	e, ok := decode(b)
	if !ok {
		s.Garbage++
		return
	}
	if len(s.processes) < maxDetails {
		s.processes[e.PID] = true
	}
	// The library tells of what a layer asks; by which front end that is in the process only
	// the layer knows, and says so first.
	if of, is := strings.CutSuffix(e.FrontEnd, "-layer"); is && s.loaded[in{e.PID, of + "-preload"}] {
		e.FrontEnd = of + "-preload"
	}
	switch e.Kind {
	case Loaded:
		// The layer says so when it is loaded, and the library when that opens it.
		if i := (in{e.PID, e.FrontEnd}); !s.loaded[i] && len(s.loaded) < maxDetails {
			s.loaded[i] = true
			count(s.frontEnds, e.FrontEnd)
		}
	case Out:
		count(s.out, e.Reason)
	case Job:
		// Of a program it is told again when a launch is added.
		if e.Key != "" && (s.jobs[e.Key] || len(s.jobs) >= maxDetails) {
			break
		}
		s.jobs[e.Key] = true
		s.Jobs++
	case Asked:
		s.asked(e)
	}
}

func (s *summer) asked(e Event) {
	o := &s.Outcomes
	o.Asked++
	s.Spent += e.Spent
	s.Saved += e.Saved
	switch e.Outcome {
	case Memory:
		o.Memory++
	case Disk:
		o.Disk++
		s.Bytes += e.Bytes
		if e.Layer != "" {
			count(s.layers, e.Layer)
		}
	case Compiled:
		o.Compiled++
		s.Compiled += cmp.Or(e.Cost, e.Spent)
		count(s.compiles, cmp.Or(e.Nearest, e.Reason))
	case Passed:
		o.Passed++
		count(s.passes, e.Reason)
	case Failed:
		o.Failed++
		count(s.failures, e.Reason)
	}
	if e.Observed != "" {
		s.WouldHit++
	}
	switch e.Observed {
	case Equal:
		s.Equal++
	case Different:
		s.Different++
	}
	s.program(e)
	s.span(e)
	s.use(e)
}

func (s *summer) program(e Event) {
	id := Program{
		Key: e.Key, Label: e.Label, Outcome: e.Outcome, Reason: e.Reason, Nearest: e.Nearest, Observed: e.Observed, Layer: e.Layer,
	}
	i, ok := s.programs[id]
	if !ok {
		if len(s.Programs) >= maxDetails {
			s.More++
			return
		}
		i = len(s.Programs)
		s.programs[id] = i
		s.Programs = append(s.Programs, id)
	}
	p := &s.Programs[i]
	p.Requests++
	p.Spent += e.Spent
	p.Saved += e.Saved
	p.Bytes = max(p.Bytes, e.Bytes)
}

func (s *summer) sum() *Summary {
	s.Processes = len(s.processes)
	s.FrontEnds, s.Out = sorted(s.frontEnds), sorted(s.out)
	s.Uses = s.sortedUses()
	if len(s.layers) > 0 {
		s.Layers = sorted(s.layers)
	}
	s.Compiles, s.Passes, s.Failures = sorted(s.compiles), sorted(s.passes), sorted(s.failures)
	return &s.Summary
}

// count counts a text, and those beyond maxDetails under none.
func count(m map[string]int, what string) {
	if _, ok := m[what]; !ok && len(m) >= maxDetails {
		what = ""
	}
	m[what]++
}

// sorted returns the most frequent first.
func sorted(m map[string]int) []Count {
	all := []Count{} // of none, too: null is no list in JSON
	for what, n := range m {
		all = append(all, Count{what, n})
	}
	slices.SortFunc(all, func(a, b Count) int { return cmp.Or(b.N-a.N, cmp.Compare(a.What, b.What)) })
	return all
}
