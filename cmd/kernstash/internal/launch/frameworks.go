package launch

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/frameworks"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/store/disk"
)

// Frameworks says which frameworks' own caches the settings switch on in an environment. It
// changes nothing.
func Frameworks(s *settings.Settings, env []string) []frameworks.Decision {
	in := frameworks.Input{Root: s.Dir, Choice: s.Frameworks, Environ: env, Exists: exists}
	decisions := frameworks.Decide(in)
	reason := ""
	switch {
	case s.Disable || s.Dir == "" || !s.Persistent:
		reason = "the cache on disk is off"
	case s.Mode != settings.ModeOn:
		reason = "the mode is " + s.Mode
	case slices.ContainsFunc(decisions, isOn):
		d := disk.New(disk.Options{Dir: s.Dir})
		if st := d.Status(); !st.On {
			reason = st.Reason
		}
		_ = d.Close() // it was only looked at
	}
	for i, d := range decisions {
		if d.On && reason != "" {
			decisions[i] = d.Leave(in, reason)
		}
	}
	return decisions
}

func isOn(d frameworks.Decision) bool { return d.On }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// MakeFrameworks makes the directories of the caches that are switched on in a root, and returns the
// variables that do it, or that take it back. What cannot be made, or written, is not switched on.
func MakeFrameworks(root string, decisions []frameworks.Decision) (variables []Variable) {
	for i, d := range decisions {
		if d.On {
			if err := frameworks.Make(root, d.Name); err != nil {
				decisions[i] = frameworks.Decision{Name: d.Name, Reason: fmt.Sprintf("it cannot be written: %v", err)}
				continue
			}
		}
		for _, v := range d.Variables {
			variables = append(variables, Variable(v))
		}
	}
	return variables
}

// enterFrameworks switches the caches of frameworks on, or off where the cache is.
func (r *runner) enterFrameworks() {
	if r.outcome.Inject == "none" && !r.outcome.Disabled {
		return // our libraries are missing
	}
	if !r.outcome.Disabled {
		r.restoreBundle()
	}
	r.outcome.Frameworks = Frameworks(r.settings, r.env)
	r.variables = append(r.variables, MakeFrameworks(r.settings.Dir, r.outcome.Frameworks)...)
}

// trim starts a worker where the caches of frameworks were not looked at for a day: it removes what is over
// their limits, as it does at its end.
func (r *runner) trim() {
	if !slices.ContainsFunc(r.outcome.Frameworks, isOn) || !frameworks.Due(r.settings.Dir, time.Now()) {
		return
	}
	d := disk.New(disk.Options{Dir: r.settings.Dir})
	defer d.Close()
	if start := r.workerStarter(d); start != nil {
		start()
	}
}

// frameworksText names the caches that are switched on, with what they hold; full adds why others are not, where somebody may wonder.
func (o *Outcome) frameworksText(full bool) string {
	var on, off []string
	for _, d := range o.Frameworks {
		switch {
		case !d.On && !d.Expected:
			off = append(off, fmt.Sprintf("%s: %s", d.Name, d.Reason))
		case d.On:
			text := d.Name
			for _, c := range o.Kept {
				if c.Name == d.Name {
					text += fmt.Sprintf(" (%s, %s)", human.Plural(c.Files, "file"), human.Size(c.Bytes))
				}
			}
			on = append(on, text)
		}
	}
	text := ""
	if len(on) > 0 {
		text = "  switched on, of frameworks' own caches: " + strings.Join(on, ", ") + "\n"
	}
	if full && len(off) > 0 {
		text += "  left alone: " + strings.Join(off, "; ") + "\n"
	}
	return human.Printable(text, true)
}

// look counts what the caches hold that are switched on.
func (o *Outcome) look(root string) {
	if slices.ContainsFunc(o.Frameworks, isOn) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		o.Kept, _ = frameworks.Look(ctx, root) // where it takes longer it is not said
	}
}
