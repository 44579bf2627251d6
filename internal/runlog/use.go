package runlog

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// Use is what a front end was asked for; of compilers that are programs, what each was.
type Use struct {
	What string `json:"what"` // the front end, or the program's name
	Outcomes
	Spent time.Duration `json:"-"`             // on all requests
	Why   []Count       `json:"why,omitempty"` // of those that were not found
}

// frontEndOfPrograms is the front end of compilers that are programs, whose name is the label.
const frontEndOfPrograms = "compiler"

// MarshalJSON adds the time, in milliseconds.
func (u Use) MarshalJSON() ([]byte, error) {
	type use Use
	return json.Marshal(struct {
		use
		SpentMS float64 `json:"spent_ms"`
	}{use(u), millis(u.Spent)})
}

// using is a Use in the making.
type using struct {
	Use
	why map[string]int
}

// count adds a request.
func (u *using) count(e Event) {
	u.Asked++
	u.Spent += e.Spent
	switch e.Outcome {
	case Memory:
		u.Memory++
		return
	case Disk:
		u.Disk++
		return
	case Compiled:
		u.Compiled++
	case Passed:
		u.Passed++
	case Failed:
		u.Failed++
	}
	count(u.why, cmp.Or(e.Nearest, e.Reason))
}

// use counts a request for whom it was made to.
func (s *summer) use(e Event) {
	what := e.FrontEnd
	if what == frontEndOfPrograms {
		what = e.Label
	}
	u := s.uses[what]
	if u == nil {
		if len(s.uses) >= maxDetails {
			return
		}
		u = &using{Use: Use{What: what}, why: make(map[string]int)}
		s.uses[what] = u
	}
	u.count(e)
}

// sortedUses returns all uses, those that took longest first.
func (s *summer) sortedUses() []Use {
	all := []Use{}
	for _, u := range s.uses {
		u.Why = sorted(u.why)
		all = append(all, u.Use)
	}
	slices.SortFunc(all, func(a, b Use) int { return cmp.Or(cmp.Compare(b.Spent, a.Spent), cmp.Compare(a.What, b.What)) })
	return all
}
