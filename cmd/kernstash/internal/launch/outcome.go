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

	Inject   string `json:"inject"`            // auto, layer, preload, or none
	Layer    string `json:"layer,omitempty"`   // the file
	Preload  string `json:"preload,omitempty"` // likewise, of what stands before other compilers
	Disabled bool   `json:"disabled"`
	Note     string `json:"note,omitempty"`    // why nothing was asked for
	Warning  string `json:"warning,omitempty"` // why what was compiled may not be kept

	SpentMS    float64 `json:"spent_ms"`    // on all programs
	CompiledMS float64 `json:"compiled_ms"` // of it, compiling
	SavedMS    float64 `json:"saved_ms"`

	runlog.Summary
}

// fill takes over what the processes have reported.
func (o *Outcome) fill(s *runlog.Summary) {
	o.Summary = *s
	o.SpentMS, o.CompiledMS, o.SavedMS = human.Millis(s.Spent), human.Millis(s.Compiled), human.Millis(s.Saved)
}
