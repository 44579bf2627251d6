package layer

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// What outcomes mean for a unit.
func TestOutcomesOfAUnit(t *testing.T) {
	t.Parallel()
	stored := &store.Artifact{Binaries: []store.Binary{{Form: store.FormFinal, Data: []byte("stored")}}, Log: "then", Cost: 7}
	code := Artifact{Binary: []byte("code"), Log: "log", Kernels: []store.Kernel{{Name: "k"}}}
	made := func(form store.Form) *store.Artifact {
		return &store.Artifact{
			Binaries: []store.Binary{{Form: form, Data: []byte("code")}},
			Log:      "log", Kernels: []store.Kernel{{Name: "k"}},
		}
	}
	built := Outcome{Result: front.Built, Took: 5, Artifact: code}
	image, err := key.NewImage(key.OpenCLC, []byte("kernel void k() {}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		unit     unit
		outcomes []Outcome
		built    *store.Artifact
		err      error
	}{
		{"restored", unit{artifact: stored}, []Outcome{{Result: front.Restored}}, nil, nil},
		{"restored for two", unit{artifact: stored}, []Outcome{{Result: front.Restored}, {Result: front.Restored}}, nil, nil},
		{"refused", unit{artifact: stored}, []Outcome{{Result: front.Refused}}, nil, errRejected},
		{"refused by one of two", unit{artifact: stored}, []Outcome{{Result: front.Restored}, {Result: front.Refused}}, nil, errRejected},
		{"a restore that fails", unit{artifact: stored}, []Outcome{{Result: front.Failed}}, nil, errRejected},
		{"a restore given up", unit{artifact: stored}, []Outcome{{Result: front.Refused}, {Result: front.Abandoned}}, nil, errAbandoned},
		{"built instead", unit{artifact: stored, wanted: true}, []Outcome{built}, made(store.FormFinal), nil},
		{"built", unit{wanted: true}, []Outcome{built}, made(store.FormFinal), nil},
		{"built PTX", unit{wanted: true, kind: opencl.Intermediate}, []Outcome{built}, made(store.FormIntermediate), nil},
		{"built, code to come", unit{wanted: true, kind: opencl.Deferred}, []Outcome{built}, nil, nil},
		{"built, not to be stored", unit{}, []Outcome{built}, nil, nil},
		{"built without a binary", unit{wanted: true}, []Outcome{{Result: front.Built}}, nil, nil},
		{"built for one of two", unit{wanted: true}, []Outcome{built, {Result: front.Failed}}, nil, inprocess.ErrRefused},
		{"failed", unit{wanted: true}, []Outcome{{Result: front.Failed}}, nil, inprocess.ErrRefused},
		{"given up", unit{wanted: true}, []Outcome{{Result: front.Abandoned}}, nil, errAbandoned},
		{"restored from nothing", unit{wanted: true}, []Outcome{{Result: front.Restored}}, nil, errAbandoned},
		{"no result", unit{wanted: true}, []Outcome{{}}, nil, errAbandoned},
		{"no outcome", unit{artifact: stored}, nil, nil, errAbandoned},
		{"a result of a later release", unit{artifact: stored}, []Outcome{{Result: 99}}, nil, errAbandoned},
	} {
		c.unit.job.Recipe = &key.Recipe{Image: image}
		var outcomes []*Outcome
		for i := range c.outcomes {
			outcomes = append(outcomes, &c.outcomes[i])
		}
		built, err := c.unit.end(outcomes)
		if diff := cmp.Diff(c.built, built); diff != "" {
			t.Errorf("%s: built (-want +got):\n%s", c.name, diff)
		}
		if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%s: err = %v, want %v", c.name, err, c.err)
		}
	}
}

// What was built is copied: the driver's memory is the application's again.
func TestArtifactIsCopied(t *testing.T) {
	t.Parallel()
	binary := []byte("code")
	image, err := key.NewImage(key.OpenCLC, []byte("kernel void k() {}"))
	if err != nil {
		t.Fatal(err)
	}
	s := unit{wanted: true}
	s.job.Recipe = &key.Recipe{Image: image}
	a, err := s.end([]*Outcome{{Result: front.Built, Took: time.Second, Artifact: Artifact{Binary: binary}}})
	binary[0] = 'X'
	if got := string(a.Binaries[0].Data); got != "code" || err != nil {
		t.Errorf("the artifact is %q, %v", got, err)
	}
}

// A finished form is restored from; queries answer with the intermediate one.
func TestFinishedArtifactIsServed(t *testing.T) {
	t.Parallel()
	a := &store.Artifact{
		Binaries: []store.Binary{{Form: store.FormFinal, Data: []byte("cubin")}, {Form: store.FormIntermediate, Data: []byte("PTX")}},
		Log:      "log", Kernels: []store.Kernel{{Name: "k"}},
	}
	want := Artifact{
		Binary: []byte("cubin"), Answer: []byte("PTX"), Log: "log",
		Kernels: []store.Kernel{{Name: "k"}}, Kind: opencl.Intermediate,
	}
	if diff := cmp.Diff(want, served(a, opencl.Intermediate)); diff != "" {
		t.Errorf("finished (-want +got):\n%s", diff)
	}
	part := *a
	part.Binaries, part.Rest = a.Binaries[:1], []store.Unread{{Form: store.FormIntermediate, Size: 3}}
	unread := want
	unread.Answer, unread.Unread = nil, 3
	if diff := cmp.Diff(unread, served(&part, opencl.Intermediate)); diff != "" {
		t.Errorf("finished, the answer unread (-want +got):\n%s", diff)
	}
	a.Binaries = a.Binaries[1:]
	want.Binary, want.Answer = []byte("PTX"), nil
	if diff := cmp.Diff(want, served(a, opencl.Intermediate)); diff != "" {
		t.Errorf("not finished (-want +got):\n%s", diff)
	}
}
