package layer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/key"
)

func TestRequestsOfMessages(t *testing.T) {
	t.Parallel()
	text := front.String
	got, err := request(&front.Request{What: 2, Message: front.Message{
		{Tag: front.Function, Number: 11},
		{Tag: front.Version, Detail: 12, Number: 9},
		{Tag: front.Code, Data: text("code")},
		{Tag: front.Name, Data: text("a.cu")},
		{Tag: front.Header, Data: text("h.h")},
		{Tag: front.Code, Data: text("h")},
		{Tag: front.Header, Data: text("i.h")},
		{Tag: front.Options, Data: text("-a")},
		{Tag: front.Options, Data: text("-b")},
		{Tag: front.Expression, Data: text("f<1>")},
	}})
	want := &Request{API: rtc.HIPRTC, Compile: 11, Major: 12, Minor: 9, Program: rtc.Request{
		Source: text("code"), Name: "a.cu", Headers: []key.Header{{Name: "h.h", Content: text("h")}, {Name: "i.h"}},
		Options: []string{"-a", "-b"}, Expressions: []string{"f<1>"},
	}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestInputsOfMessages(t *testing.T) {
	t.Parallel()
	text := front.String
	got, err := request(&front.Request{What: 3, Message: front.Message{
		{Tag: front.Function, Detail: 1, Number: 11},
		{Tag: front.Version, Detail: 12, Number: 4},
		{Tag: front.Unit, Detail: 2},
		{Tag: front.Name, Data: text("")},
		{Tag: front.Code, Data: text("ptx")},
		{Tag: front.Unit, Detail: 5, Number: 1},
		{Tag: front.Code, Data: text("object")},
		{Tag: front.Options, Data: text("-lto")},
	}})
	want := &Request{API: rtc.NVJitLink, Compile: 11, Major: 12, Minor: 4, Program: rtc.Request{
		Adding: true, Options: []string{"-lto"},
		Inputs: []rtc.Input{{Kind: 2, Named: true, Code: text("ptx")}, {Kind: 5, Too: true, Code: text("object")}},
	}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// What C says of a compile is what it is told of it later.
func TestOutcomesAreServed(t *testing.T) {
	t.Parallel()
	text := front.String
	code := uint64(0xffffffff) // -1
	m := front.Message{
		{Tag: front.Log, Data: text("log\x00")},
		{Tag: front.Binary, Data: text("ptx\x00")},
		{Tag: front.Binary, Detail: 1, Number: code},
		{Tag: front.Expression, Data: text("f<1>")},
		{Tag: front.Lowered, Data: text("_Zf1")},
		{Tag: front.Expression, Data: text("g")},
		{Tag: front.Lowered, Number: 7},
	}
	o, out, unfit, err := outcome(append(m, front.Field{Tag: front.Ended, Detail: 3, Number: 5}, front.Field{Tag: front.Status}))
	if err != nil || unfit != "" || o.Result != front.Built || o.Took != 5 || out.Log() != "log" {
		t.Fatalf("%+v, %+v, %v", o, out, err)
	}
	m[2].Number = ^uint64(0)
	if diff := cmp.Diff(m, served(out)); diff != "" {
		t.Error(diff)
	}
	o, out, unfit, err = outcome(front.Message{{Tag: front.Passed, Data: text("why")}, {Tag: front.Ended, Detail: 4}, {Tag: front.Status, Detail: 6}, {Tag: front.Log, Data: text("no\x00")}})
	if err != nil || o.Result != front.Failed || out != nil || unfit != "why" {
		t.Errorf("%+v, %q, %v", o, unfit, err)
	}
}

func TestMessagesThatMakeNoSense(t *testing.T) {
	t.Parallel()
	function, code := front.Field{Tag: front.Function, Number: 1}, front.Field{Tag: front.Code, Data: []byte{}}
	for _, m := range []front.Message{
		nil,
		{function},
		{code},
		{function, {Tag: front.Code}},
		{function, code, {Tag: front.Unit}},
		{function, {Tag: front.Unit}, code, {Tag: front.Unit}},
		{function, code, {Tag: front.Device}},
		{function, code, {Tag: front.Name, Data: []byte{}}},
	} {
		if r, err := request(&front.Request{Message: m}); err == nil {
			t.Errorf("request of %v: %+v", m, r)
		}
	}
	for _, m := range []front.Message{
		{{Tag: front.Binary, Detail: uint32(rtc.Forms())}}, {{Tag: front.Binary, Detail: 256}}, {{Tag: front.Lowered}}, {{Tag: front.Kernel}},
	} {
		if o, _, _, err := outcome(m); err == nil {
			t.Errorf("outcome of %v: %+v", m, o)
		}
	}
}
