package launch

import (
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/runlog"
)

// Outcome is a run that has ended: what --json and --report-file write, and what people
// are told of.
type Outcome struct {
	Command []string `json:"command"`
	Status  int      `json:"exit_status"`      // as shells give it
	Signal  string   `json:"signal,omitempty"` // that the command died by
	Millis  float64  `json:"elapsed_ms"`

	Door     string `json:"door"`              // auto, layer, preload, or none
	Layer    string `json:"layer,omitempty"`   // the file
	Preload  string `json:"preload,omitempty"` // likewise, of what stands before other compilers
	Disabled bool   `json:"disabled"`
	Note     string `json:"note,omitempty"`    // why nothing was asked for
	Warning  string `json:"warning,omitempty"` // why what was compiled may not be kept

	Processes int             `json:"processes"` // that used, or could have used, OpenCL
	Doors     []runlog.Count  `json:"doors"`
	StayedOut []runlog.Count  `json:"stayed_out"`
	Programs  runlog.Outcomes `json:"programs"`

	SpentMS    float64 `json:"spent_ms"`    // on all programs
	CompiledMS float64 `json:"compiled_ms"` // of it, compiling
	SavedMS    float64 `json:"saved_ms"`
	Bytes      int64   `json:"bytes"` // restored

	CompiledBecause []runlog.Count `json:"compiled_because"`
	PassedBecause   []runlog.Count `json:"passed_because"`
	FailedBecause   []runlog.Count `json:"failed_because"`
	Observed        observed       `json:"observed"`
	Jobs            int            `json:"worker_jobs"` // left to be finished by the worker

	Requests []request `json:"requests"` // what was asked for, each once
	More     int       `json:"requests_more,omitempty"`
	Garbage  int       `json:"lines_not_understood,omitempty"`
	Cut      bool      `json:"report_incomplete,omitempty"`

	summary *runlog.Summary
}

// observed is what mode observe found.
type observed struct {
	WouldHit  int `json:"would_hit"`
	Equal     int `json:"equal"`
	Different int `json:"different"`
}

type request struct {
	Key      string          `json:"key,omitempty"`
	Label    string          `json:"label,omitempty"`
	Outcome  runlog.Outcome  `json:"outcome"`
	Reason   string          `json:"reason,omitempty"`
	Nearest  string          `json:"nearest,omitempty"`
	Observed runlog.Observed `json:"observed,omitempty"`
	Times    int             `json:"times"`
	SpentMS  float64         `json:"spent_ms"`
	SavedMS  float64         `json:"saved_ms"`
	Bytes    int64           `json:"bytes,omitempty"`
}

// fill takes over what the processes have reported.
func (o *Outcome) fill(s *runlog.Summary) {
	o.summary = s
	o.Processes, o.Doors, o.StayedOut, o.Programs = s.Processes, list(s.Doors), list(s.Out), s.Outcomes
	o.SpentMS, o.CompiledMS, o.SavedMS, o.Bytes = human.Millis(s.Spent), human.Millis(s.Compiled), human.Millis(s.Saved), s.Bytes
	o.CompiledBecause, o.PassedBecause, o.FailedBecause = list(s.Compiles), list(s.Passes), list(s.Failures)
	o.Observed = observed{s.WouldHit, s.Equal, s.Different}
	o.Jobs, o.More, o.Garbage, o.Cut = s.Jobs, s.More, s.Garbage, s.Cut
	o.Requests = make([]request, len(s.Programs))
	for i, p := range s.Programs {
		o.Requests[i] = request{
			p.Key, p.Label, p.Outcome, p.Reason, p.Nearest, p.Observed,
			p.Requests, human.Millis(p.Spent), human.Millis(p.Saved), p.Bytes,
		}
	}
}

// list is never null in JSON.
func list(c []runlog.Count) []runlog.Count {
	if c == nil {
		return []runlog.Count{}
	}
	return c
}
