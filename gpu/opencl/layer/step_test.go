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

// What outcomes mean for a step.
func TestOutcomesOfAStep(t *testing.T) {
	t.Parallel()
	stored := &store.Artifact{Binaries: []store.Binary{{Form: store.FormFinal, Data: []byte("stored")}}, Log: "then", Cost: 7}
	code := Artifact{Binary: []byte("code"), Log: "log", Kernels: []store.Kernel{{Name: "k"}}}
	made := func(form store.Form) *store.Artifact {
		return &store.Artifact{
			Binaries: []store.Binary{{Form: form, Data: []byte("code")}},
			Log:      "log", Kernels: []store.Kernel{{Name: "k"}}, Cost: 5,
		}
	}
	built := Outcome{Result: front.Built, Took: 5, Artifact: code}
	image, err := key.NewImage(key.OpenCLC, []byte("kernel void k() {}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		step     step
		outcomes []Outcome
		built    *store.Artifact
		err      error
	}{
		{"restored", step{artifact: stored}, []Outcome{{Result: front.Restored}}, nil, nil},
		{"restored for two", step{artifact: stored}, []Outcome{{Result: front.Restored}, {Result: front.Restored}}, nil, nil},
		{"refused", step{artifact: stored}, []Outcome{{Result: front.Refused}}, nil, errRejected},
		{"refused by one of two", step{artifact: stored}, []Outcome{{Result: front.Restored}, {Result: front.Refused}}, nil, errRejected},
		{"a restore that fails", step{artifact: stored}, []Outcome{{Result: front.Failed}}, nil, errRejected},
		{"a restore given up", step{artifact: stored}, []Outcome{{Result: front.Refused}, {Result: front.Abandoned}}, nil, errAbandoned},
		{"built instead", step{artifact: stored, wanted: true}, []Outcome{built}, made(store.FormFinal), nil},
		{"built", step{wanted: true}, []Outcome{built}, made(store.FormFinal), nil},
		{"built PTX", step{wanted: true, kind: opencl.Intermediate}, []Outcome{built}, made(store.FormIntermediate), nil},
		{"built, code to come", step{wanted: true, kind: opencl.Deferred}, []Outcome{built}, nil, nil},
		{"built, not to be stored", step{}, []Outcome{built}, nil, nil},
		{"built without a binary", step{wanted: true}, []Outcome{{Result: front.Built}}, nil, nil},
		{"built for one of two", step{wanted: true}, []Outcome{built, {Result: front.Failed, Code: -11}}, nil, inprocess.ErrRefused},
		{"failed", step{wanted: true}, []Outcome{{Result: front.Failed, Code: -11}}, nil, inprocess.ErrRefused},
		{"given up", step{wanted: true}, []Outcome{{Result: front.Abandoned, Code: -5}}, nil, errAbandoned},
		{"restored from nothing", step{wanted: true}, []Outcome{{Result: front.Restored}}, nil, errAbandoned},
		{"no result", step{wanted: true}, []Outcome{{}}, nil, errAbandoned},
		{"no outcome", step{artifact: stored}, nil, nil, errAbandoned},
		{"a result of a later release", step{artifact: stored}, []Outcome{{Result: 99}}, nil, errAbandoned},
	} {
		c.step.job.Recipe = &key.Recipe{Image: image}
		var outcomes []*Outcome
		for i := range c.outcomes {
			outcomes = append(outcomes, &c.outcomes[i])
		}
		built, err := c.step.end(outcomes)
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
	s := step{wanted: true}
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
	a.Binaries = a.Binaries[1:]
	want.Binary, want.Answer = []byte("PTX"), nil
	if diff := cmp.Diff(want, served(a, opencl.Intermediate)); diff != "" {
		t.Errorf("not finished (-want +got):\n%s", diff)
	}
}
