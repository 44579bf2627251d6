package launch

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/runlog"
)

// why says why nothing was asked of the cache, "" if something was.
func (o *Outcome) why(t Target) string {
	switch {
	case o.Disabled:
		return "the cache was switched off"
	case o.Outcomes.Asked > 0 && o.Outcomes.Asked == o.kept():
		return fmt.Sprintf("the application's own cache answered: it made %s of binaries that it had kept",
			human.Plural(o.Outcomes.Asked, "program"))
	case o.Outcomes.Asked > 0:
		return ""
	case len(o.Out) > 0:
		var reasons []string
		for _, c := range o.Out {
			reasons = append(reasons, c.What)
		}
		return "the layer was loaded and stayed out: " + strings.Join(reasons, ", ")
	case len(o.FrontEnds) > 0:
		n := 0
		for _, c := range o.FrontEnds {
			n += c.N
		}
		return fmt.Sprintf("the cache was loaded in %s, which built no program", human.Plural(n, "process"))
	}
	text := "the layer was not loaded: " + o.notLoaded(t)
	if o.Preload != "" && t.program != nil && !t.program.static {
		text += "; and no other compiler that the cache serves was called"
	}
	return text
}

// kept counts programs that the application made of binaries of its own.
func (o *Outcome) kept() int {
	for _, c := range o.Passes {
		if c.What == runlog.ReasonBinary {
			return c.N
		}
	}
	return 0
}

const setIDText = " runs with rights that you have not (set-user-id, or file capabilities)"

// Unseen says why nothing is seen of what a command loads.
func (t Target) Unseen() string {
	name := filepath.Base(t.File)
	switch {
	case t.SetID:
		return name + setIDText
	case t.program != nil && t.program.static:
		return name + " is linked statically: it loads nothing, and nothing can be loaded into it"
	}
	return "the dynamic linker of " + name + " did not report what it loads: it is not glibc's"
}

func (o *Outcome) notLoaded(t Target) string {
	name := filepath.Base(t.File)
	of := name
	if t.Script != "" {
		of = fmt.Sprintf("%s (a script, run by %s)", name, t.Script)
	}
	switch {
	case t.SetID:
		return of + setIDText
	case t.program == nil:
		return of + " started no program that compiles for a GPU"
	case !t.fits():
		return fmt.Sprintf("%s is %s, the layer is not for that", of, kindOf(t.program))
	case t.program.static:
		return of + " is linked statically: nothing can be loaded into it"
	}
	text := of + " made no " + runtimes.Layered() + " program, nor did what it started"
	if o.Preload == "" {
		text += "; where nothing stands before dlsym, a library that a program opens itself goes without the cache"
	}
	return text
}
