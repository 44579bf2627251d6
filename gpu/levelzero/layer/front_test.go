package layer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/front"
)

func TestRequestsOfMessages(t *testing.T) {
	t.Parallel()
	text := front.String
	got, err := request(front.Message{
		{Tag: front.Function, Number: 10},
		{Tag: front.Function, Detail: 9, Number: 19},
		{Tag: front.Device, Number: 5},
		{Tag: front.Code, Data: text("a")},
		{Tag: front.Code, Data: text("b")},
		{Tag: front.Options, Data: text("-O0")},
		{Tag: front.Constant, Detail: 3, Number: 30},
		{Tag: front.Environment},
		{Tag: front.Directories},
	})
	want := &Request{Device: 5, Modules: [][]byte{text("a"), text("b")}, Flags: "-O0", Constants: []Constant{{ID: 3, At: 30}}}
	want.Queries[0], want.Queries[9] = 10, 19
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// What C says of a module is what it is told of it later, and one field where it has no place
// is a result that says nothing.
func TestOutcomesAreServed(t *testing.T) {
	t.Parallel()
	text := front.String
	m := front.Message{
		{Tag: front.Binary, Data: []byte("native")},
		{Tag: front.Log, Data: text("log")},
		{Tag: front.Unknown, Number: 6},
		{Tag: front.Unknown, Detail: 1, Number: 7},
		{Tag: front.Kernel, Data: text("k")},
		{Tag: front.Kernel, Data: text("l")},
	}
	o := outcome(append(m, front.Field{Tag: front.Ended, Detail: 3, Number: 5}, front.Field{Tag: front.Status, Detail: 8}))
	a := o.Made(nil).Artifact
	if o.Result != front.Built || o.Took != 5 || a.Log != "log" || len(a.Kernels) != 2 {
		t.Errorf("%+v, %+v", o, a)
	}
	if m[0].Data[0] = 'N'; a.Binaries[0].Data[0] != 'n' {
		t.Error("the code is still C's")
	}
	m[0].Data[0] = 'n'
	got, err := served(a)
	if diff := cmp.Diff(m, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if o := outcome(append(m, front.Field{Tag: front.Ended, Detail: 3}, front.Field{Tag: front.Device})); o.Result != 0 || o.Made != nil {
		t.Errorf("%+v", o)
	}
}

func TestMessagesThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for _, f := range []front.Field{{Tag: front.Function, Detail: 10}, {Tag: front.Unit}, {}} {
		if r, err := request(front.Message{f}); err == nil {
			t.Errorf("request of %v: %+v", f, r)
		}
	}
}
