package manifest

import (
	"runtime"
	"sync/atomic"

	"github.com/kernstash/kernstash/deps/internal/files"
)

// survey looks at the files and probes of a manifest from several goroutines at once,
// whoever needs the answer among them. It only finds out which parts are beyond doubt:
// what is not, or was not looked at in time, is left to be looked at again, one by one.
// So nobody waits for a goroutine that found no processor.
type survey struct {
	reads  []Read
	probes []files.Probe
	next   atomic.Int32  // the part to be looked at next
	clean  []atomic.Bool // by part: all of it is as it was
	stop   atomic.Bool
}

const (
	// surveyPart is how many paths one goroutine looks at in turn.
	surveyPart = 48
	// leastSurvey is how many paths are looked at faster by several goroutines than it
	// takes to start them.
	leastSurvey = 4 * surveyPart
	// mostSurveyors bounds the goroutines beside the caller's.
	mostSurveyors = 7
)

// newSurvey begins to look; nil where that is not worth while.
func (m *Manifest) newSurvey(s files.System) *survey {
	n := len(m.reads) + len(m.probes)
	others := min(runtime.GOMAXPROCS(0)-1, mostSurveyors, n/leastSurvey)
	if others <= 0 || !s.AtOnce {
		return nil
	}
	v := &survey{reads: m.reads, probes: m.probes}
	v.clean = make([]atomic.Bool, v.parts(len(v.reads))+v.parts(len(v.probes)))
	for range others {
		go v.run(s)
	}
	return v
}

func (v *survey) parts(n int) int { return (n + surveyPart - 1) / surveyPart }

// run looks at part after part until none is left. No path is looked at by anything that
// could panic for what it finds there.
func (v *survey) run(s files.System) {
	for !v.stop.Load() {
		i := int(v.next.Add(1)) - 1
		if i >= len(v.clean) {
			return
		}
		v.clean[i].Store(v.look(s, i))
	}
}

// look says whether all of a part is as it was.
func (v *survey) look(s files.System, part int) bool {
	if part >= v.parts(len(v.reads)) {
		first := (part - v.parts(len(v.reads))) * surveyPart
		for _, p := range v.probes[first:min(first+surveyPart, len(v.probes))] {
			if !p.Holds(s) {
				return false
			}
		}
		return true
	}
	first := part * surveyPart
	for i := range v.reads[first:min(first+surveyPart, len(v.reads))] {
		r := &v.reads[first+i]
		if k, st, err := s.Look(r.Path); err != nil || k != files.Regular || st != r.Stamp || !r.Settled {
			return false
		}
	}
	return true
}

// end has the caller look, too, until every part is looked at or somebody else's.
func (v *survey) end(s files.System) {
	if v != nil {
		v.run(s)
	}
}

// cancel has all stop.
func (v *survey) cancel() {
	if v != nil {
		v.stop.Store(true)
	}
}

// read says whether the i-th file is known to be as it was.
func (v *survey) read(i int) bool { return v != nil && v.clean[i/surveyPart].Load() }

// probe says whether the i-th probe is known to hold.
func (v *survey) probe(i int) bool {
	return v != nil && v.clean[v.parts(len(v.reads))+i/surveyPart].Load()
}
