package layer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

func TestRequestsOfMessages(t *testing.T) {
	t.Parallel()
	text := front.String
	none, some, unit := "", "-w", "-DA"
	m := front.Message{
		{Tag: front.Function, Number: 11},
		{Tag: front.Function, Detail: 1, Number: 12},
		{Tag: front.Platform, Number: 13},
		{Tag: front.Device, Number: 1},
		{Tag: front.Device, Number: 2},
		{Tag: front.Directories, Number: 0},
		{Tag: front.Options, Data: text(some)},
		{Tag: front.Unit, Detail: 1, Number: 5},
		{Tag: front.Code, Data: text("a")},
		{Tag: front.Code, Data: text("b")},
		{Tag: front.Header, Data: text("h.h")},
		{Tag: front.Code, Data: text("h")},
		{Tag: front.Constant, Detail: 3, Data: []byte{1}},
		{Tag: front.Options, Data: text(none)},
		{Tag: front.Unit, Detail: 2},
		{Tag: front.Code, Data: text("c")},
		{Tag: front.Options, Data: text(unit)},
		{Tag: front.Unit, Detail: 2},
		{Tag: front.Options},
	}
	got, err := request(&front.Request{What: 2, Thread: 9, Message: m})
	want := &Request{
		What: Link, Thread: 9, Devices: []uintptr{1, 2}, Options: &some,
		Driver: opencl.DriverEntries{GetPlatformInfo: 11, GetDeviceInfo: 12, Platform: 13},
		Units: []Unit{
			{
				Kind: key.OpenCLC, Strings: [][]byte{text("a"), text("b")}, Compiled: 5, Options: &none,
				Headers:   []key.Header{{Name: "h.h", Content: text("h")}},
				Constants: []key.SpecConstant{{ID: 3, Value: []byte{1}}},
			},
			{Kind: key.SPIRV, Strings: [][]byte{text("c")}, Options: &unit},
			{Kind: key.SPIRV},
		},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestOutcomesOfMessages(t *testing.T) {
	t.Parallel()
	text := front.String
	got, err := outcomesOf(front.Message{
		{Tag: front.Ended, Detail: 3, Number: 7},
		{Tag: front.Status},
		{Tag: front.Binary, Data: text("code")},
		{Tag: front.Log, Data: text("log")},
		{Tag: front.Kernel, Data: text("k")},
		{Tag: front.KernelAttributes, Data: text("at")},
		{Tag: front.Argument, Detail: 1, Number: 2, Data: text("x")},
		{Tag: front.ArgumentType, Detail: 3, Data: text("int")},
		{Tag: front.Kernel, Data: text("unnamed")},
		{Tag: front.Argument, Data: text("y")},
		{Tag: front.Argument},
		{Tag: front.ArgumentType},
		{Tag: front.Argument, Data: text("z")},
		{Tag: front.Ended, Detail: 4},
		{Tag: front.Status, Detail: 0xfffffff5},
	})
	want := []Outcome{
		{Result: front.Built, Took: 7, Artifact: Artifact{
			Binary: text("code"), Log: "log",
			Kernels: []store.Kernel{
				{Name: "k", Attributes: "at", Args: []store.Arg{{Name: "x", TypeName: "int", Address: 1, Access: 3, TypeQual: 2}}},
				{Name: "unnamed"},
			},
		}},
		{Result: front.Failed},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Outcome{})); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// What is served is what C would read: a hole has nothing but its kind, and what is to be
// asked for its size.
func TestMessagesOfArtifacts(t *testing.T) {
	t.Parallel()
	text := front.String
	artifacts := []Artifact{
		{Kind: opencl.Deferred, Log: "not told"},
		{Kind: opencl.Intermediate, Binary: text("code"), Unread: 5, Kernels: []store.Kernel{{Name: "k", Args: []store.Arg{{Name: "x", Access: 4}}}}},
	}
	var got front.Message
	for i := range artifacts {
		got = artifacts[i].appendTo(got)
	}
	want := front.Message{
		{Tag: front.Part, Detail: 2},
		{Tag: front.Part, Detail: 1},
		{Tag: front.Binary, Data: text("code")},
		{Tag: front.Log, Data: []byte{}},
		{Tag: front.Answer, Number: 5},
		{Tag: front.Kernel, Data: text("k")},
		{Tag: front.KernelAttributes, Data: []byte{}},
		{Tag: front.Argument, Data: text("x")},
		{Tag: front.ArgumentType, Detail: 4, Data: []byte{}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Fields where they have no place are refused, in any order, and none is read past.
func TestMessagesThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for _, m := range []front.Message{
		{{Tag: front.Code}},
		{{Tag: front.Header}},
		{{Tag: front.Constant}},
		{{Tag: front.Unit}},
		{{Tag: front.Unit, Detail: 3}},
		{{Tag: front.Ended}},
		{{Tag: front.Unit, Detail: 1}, {Tag: front.Kernel}},
	} {
		if r, err := request(&front.Request{Message: m}); err == nil {
			t.Errorf("request of %v: %+v", m, r)
		}
	}
	for _, m := range []front.Message{
		{{Tag: front.Status}},
		{{Tag: front.Ended}, {Tag: front.Argument}},
		{{Tag: front.Ended}, {Tag: front.KernelAttributes}},
		{{Tag: front.Ended}, {Tag: front.Unit}},
	} {
		if o, err := outcomesOf(m); err == nil {
			t.Errorf("outcomes of %v: %+v", m, o)
		}
	}
	for a := front.Tag(0); a <= front.Saved+1; a++ {
		for b := front.Tag(0); b <= front.Saved+1; b++ {
			m := front.Message{{Tag: a, Detail: 1}, {Tag: b, Detail: 1}, {Tag: a}, {Tag: b}}
			_, _ = request(&front.Request{Message: m})
			_, _ = outcomesOf(m)
			_, _ = outcomesOf(append(front.Message{{Tag: front.Ended}}, m...))
		}
	}
}

func TestLaunchesOfMessages(t *testing.T) {
	t.Parallel()
	a := &Layer{}
	for _, m := range []front.Message{
		nil,
		{{Tag: front.Launched, Number: 1}},
		{{Tag: front.Launched, Number: 1}, {Tag: front.Sizes, Data: make([]byte, 23)}},
		{{Tag: front.Launched, Number: 1}, {Tag: front.Sizes, Data: make([]byte, 24)}, {Tag: front.Name}},
		{{Tag: front.Launched, Number: 1}, {Tag: front.Sizes, Data: make([]byte, 24)}},
	} {
		a.Tell(0, m) // of a program that is not known
	}
}
