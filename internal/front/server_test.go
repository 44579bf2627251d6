package front

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/kernstash/kernstash/reason"
)

// fake is an adapter, and the one session that it has.
type fake struct {
	begin func(*Request) (Session, Step, bool)
	next  func(Message) (Step, bool)
	says  chan Step // what Wait says

	mu     sync.Mutex
	ended  int
	passed []reason.Reason
	told   []Message
	broken bool // Pass panics
}

func (f *fake) Begin(r *Request) (Session, Step, bool) { return f.begin(r) }
func (f *fake) Next(m Message) (Step, bool)            { return f.next(m) }

func (f *fake) Wait(d time.Duration) (Step, bool) {
	select {
	case s := <-f.says:
		return s, true
	case <-time.After(d):
		return Step{}, false
	}
}

func (f *fake) End() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended++
}

func (f *fake) Tell(_ uint32, m Message) { f.told = append(f.told, m) }

func (f *fake) Pass(why reason.Reason, _ string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.passed = append(f.passed, why)
	if f.broken {
		panic("pass")
	}
}

func (f *fake) Guard(g func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return g()
}

// forC returns a message as C would hand it over; its memory stays for the test.
func forC(t *testing.T, m Message) Raw {
	t.Helper()
	pins := new(runtime.Pinner)
	t.Cleanup(pins.Unpin)
	return m.forC(pins)
}

func same(a, b Message) bool {
	if len(a) != len(b) {
		return false
	}
	for i, f := range a {
		g := b[i]
		if f.Tag != g.Tag || f.Detail != g.Detail || f.Number != g.Number || !bytes.Equal(f.Data, g.Data) || (f.Data == nil) != (g.Data == nil) {
			return false
		}
	}
	return true
}

func TestMessages(t *testing.T) {
	t.Parallel()
	large := bytes.Repeat([]byte("x"), shared)
	for _, m := range []Message{
		nil,
		{{Tag: Code, Data: []byte("a")}},
		{{Tag: Device, Detail: math.MaxUint32, Number: math.MaxUint64}, {Tag: Log, Data: []byte{}}, {Tag: Name}},
		{{Tag: Code, Data: large}, {Tag: Name, Data: String("b")}, {Tag: Code, Data: large[1:]}},
	} {
		got, err := forC(t, m).view()
		if err != nil || !same(got, m) {
			t.Errorf("%v, %v; want %v", got, err, m)
		}
	}
	raw := forC(t, Message{{Tag: Log, Data: []byte("log")}, {Tag: Code, Data: large[:200]}, {Tag: Name, Data: []byte("n")}, {Tag: Code, Data: large[:17]}})
	for i, w := range unsafe.Slice((*wire)(raw.First), raw.Count) {
		if at := uintptr(w.data); at%16 != 0 {
			t.Errorf("field %d begins at %d of 16: drivers may read it as a structure", i, at%16)
		}
	}
	got, err := forC(t, Message{{Tag: Code, Data: large}}).view()
	if err != nil || &got[0].Data[0] != &large[0] {
		t.Errorf("large data was copied, %v", err)
	}
}

// What makes no sense is refused before anything that it points to is read.
func TestMessagesThatMakeNoSense(t *testing.T) {
	t.Parallel()
	nowhere := unsafe.Pointer(&struct{ byte }{})
	one := func(w wire) Raw { return Raw{unsafe.Pointer(&w), 1} }
	for name, r := range map[string]Raw{
		"no fields":       {nil, 1},
		"too many fields": {nowhere, maxFields + 1},
		"no tag":          one(wire{}),
		"unknown tag":     one(wire{tag: uint32(tags)}),
		"too many bytes":  one(wire{tag: uint32(Code), data: nowhere, size: 1<<30 + 1}),
		"too long a text": one(wire{tag: uint32(Options), data: nowhere, size: 16<<20 + 1}),
		"size of nothing": one(wire{tag: 1, size: 1}),
		"all ones":        one(wire{math.MaxUint32, math.MaxUint32, math.MaxUint64, nowhere, math.MaxUint}),
	} {
		if m, err := r.view(); !errors.Is(err, ErrMessage) {
			t.Errorf("%s: %v, %v", name, m, err)
		}
		f := &fake{}
		s := NewServer(f)
		if reply := s.Begin(1, 1, r, nil); reply != (Reply{}) || len(f.passed) != 1 || f.passed[0] != reason.PassedOther || len(s.open) != 0 {
			t.Errorf("%s: %+v, %v", name, reply, f.passed)
		}
		if s.Tell(1, r); len(f.told) != 0 {
			t.Errorf("%s: told", name)
		}
	}
}

// newServer returns a server whose requests are answered with a step, and a fake behind it.
func newServer(step Step, ok bool) (*Server, *fake) {
	f := &fake{says: make(chan Step)}
	f.begin = func(*Request) (Session, Step, bool) { return f, step, ok }
	return NewServer(f), f
}

func TestTicketsEndWithTheLastStep(t *testing.T) {
	t.Parallel()
	for _, a := range []Action{Pass, Done} {
		s, f := newServer(Step{Action: Hit, Message: Message{{Tag: Log, Data: String("l")}}}, true)
		r := s.Begin(1, 1, Raw{}, nil)
		if m, err := r.Message.view(); r.Action != Hit || r.Ticket == 0 || err != nil || len(m) != 1 || m[0].Text() != "l" {
			t.Fatalf("%+v, %v, %v", r, m, err)
		}
		f.next = func(m Message) (Step, bool) { return Step{Action: a, Program: 7, Saved: 9}, true }
		if r := s.Next(r.Ticket, Raw{}, nil); r != (Reply{Action: a, Program: 7, Saved: 9}) {
			t.Errorf("%+v", r)
		}
		if f.ended != 1 || len(s.open) != 0 {
			t.Errorf("ended %d times, %d open", f.ended, len(s.open))
		}
		if r := s.Next(r.Ticket, Raw{}, nil); r != (Reply{}) {
			t.Errorf("after the end: %+v", r)
		}
		s.End(r.Ticket)
		if f.ended != 1 {
			t.Errorf("ended %d times", f.ended)
		}
	}
	s, _ := newServer(Step{}, true)
	if r := s.Begin(1, 1, Raw{}, nil); r != (Reply{}) || len(s.open) != 0 {
		t.Errorf("PASS from begin: %+v, %d open", r, len(s.open))
	}
}

// A result that makes no sense is an empty one.
func TestResultThatMakesNoSense(t *testing.T) {
	t.Parallel()
	s, f := newServer(Step{Action: Build}, true)
	var got Message
	f.next = func(m Message) (Step, bool) { got = m; return Step{Action: Done}, true }
	s.Next(s.Begin(1, 1, Raw{}, nil).Ticket, Raw{nil, 1}, nil)
	if got != nil || f.ended != 1 {
		t.Errorf("%v, ended %d times", got, f.ended)
	}
}

// A waiting thread is woken once there is a step, and not before.
func TestWaiting(t *testing.T) {
	t.Parallel()
	s, f := newServer(Step{}, false)
	woken := make(chan struct{}, 1)
	r := s.Begin(1, 1, Raw{}, func() { woken <- struct{}{} })
	if !r.Pending || r.Ticket == 0 {
		t.Fatalf("%+v", r)
	}
	if again := s.Wait(r.Ticket); again != (Reply{Ticket: r.Ticket, Pending: true}) {
		t.Errorf("too early: %+v", again)
	}
	select {
	case <-woken:
		t.Error("woken for nothing")
	default:
	}
	f.says <- Step{Action: Build}
	<-woken
	if r = s.Wait(r.Ticket); r.Action != Build || r.Pending {
		t.Errorf("%+v", r)
	}
	f.next = func(Message) (Step, bool) { return Step{}, false }
	if r = s.Next(r.Ticket, Raw{}, func() { woken <- struct{}{} }); !r.Pending {
		t.Errorf("%+v", r)
	}
	f.says <- Step{}
	<-woken
	if r = s.Wait(r.Ticket); r != (Reply{}) || f.ended != 1 || len(s.open) != 0 {
		t.Errorf("%+v, ended %d times", r, f.ended)
	}
	if r = s.Wait(99); r != (Reply{}) {
		t.Errorf("no such ticket: %+v", r)
	}
}

// A panic anywhere is PASS, counted, and leaves no ticket; who waits is woken.
func TestPanics(t *testing.T) {
	t.Parallel()
	s, f := newServer(Step{}, false)
	f.says = nil
	begin := f.begin
	f.begin = func(*Request) (Session, Step, bool) { panic("begin") }
	if r := s.Begin(1, 1, Raw{}, nil); r != (Reply{}) || len(s.open) != 0 {
		t.Errorf("%+v", r)
	}
	f.begin = begin
	f.begin = func(*Request) (Session, Step, bool) { return panics{}, Step{}, false }
	woken := make(chan struct{})
	r := s.Begin(1, 1, Raw{}, func() { close(woken) })
	<-woken
	if r = s.Wait(r.Ticket); r != (Reply{}) || len(s.open) != 0 {
		t.Errorf("%+v, %d open", r, len(s.open))
	}
	f.begin = func(*Request) (Session, Step, bool) { return panics{}, Step{Action: Build}, true }
	if r = s.Next(s.Begin(1, 1, Raw{}, nil).Ticket, Raw{}, nil); r != (Reply{}) || len(s.open) != 0 {
		t.Errorf("%+v, %d open", r, len(s.open))
	}
	f.broken = true // nor does a panic of counting leave
	f.begin = func(*Request) (Session, Step, bool) { panic("begin") }
	if r := s.Begin(1, 1, Raw{}, nil); r != (Reply{}) || len(s.open) != 0 {
		t.Errorf("%+v", r)
	}
	f.begin = func(*Request) (Session, Step, bool) { return panics{}, Step{}, false }
	woken = make(chan struct{})
	r = s.Begin(1, 1, Raw{}, func() { close(woken) })
	<-woken
	if r = s.Wait(r.Ticket); r != (Reply{}) || len(s.open) != 0 {
		t.Errorf("%+v, %d open", r, len(s.open))
	}
	for _, why := range f.passed {
		if why != reason.PassedPanic {
			t.Errorf("counted as %v", why)
		}
	}
	if len(f.passed) < 3 {
		t.Errorf("%d panics counted", len(f.passed))
	}
}

type panics struct{}

func (panics) Wait(time.Duration) (Step, bool) { panic("wait") }
func (panics) Next(Message) (Step, bool)       { panic("next") }
func (panics) End()                            { panic("end") }

func TestTooManyTickets(t *testing.T) {
	t.Parallel()
	s, f := newServer(Step{Action: Build}, true)
	for range maxTickets {
		if r := s.Begin(1, 1, Raw{}, nil); r.Action != Build {
			t.Fatalf("%+v", r)
		}
	}
	if r := s.Begin(1, 1, Raw{}, nil); r != (Reply{}) || len(f.passed) != 1 || f.passed[0] != reason.PassedBusy {
		t.Errorf("%+v, %v", r, f.passed)
	}
}

// A hit without a session has nothing to be told.
func TestHitOfNoSession(t *testing.T) {
	t.Parallel()
	f := &fake{begin: func(*Request) (Session, Step, bool) { return nil, Step{Action: Hit}, true }}
	s := NewServer(f)
	r := s.Begin(1, 1, Raw{}, nil)
	if r.Action != Hit || len(s.open) != 1 {
		t.Fatalf("%+v", r)
	}
	if r = s.Next(r.Ticket, Raw{}, nil); r != (Reply{Action: Done}) || len(s.open) != 0 {
		t.Errorf("%+v, %d open", r, len(s.open))
	}
}

// The header has the same tags, actions and results in the same order.
func TestNumbersAreTheHeaders(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../capi/kernstash_front.h")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("message.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(b), "KSF_FUNCTION = 1")
	list, _, _ = strings.Cut(list, "KSF_TAGS")
	var inC, inGo []string
	for _, m := range regexp.MustCompile(`(?m)^\s*KSF_(\w+),`).FindAllStringSubmatch("\tKSF_FUNCTION,\n"+list, -1) {
		inC = append(inC, strings.ReplaceAll(m[1], "_", ""))
	}
	_, tagList, _ := strings.Cut(string(text), "Function Tag = 1 + iota")
	tagList, _, _ = strings.Cut(tagList, "tags\n")
	for _, name := range append([]string{"Function"}, strings.Fields(tagList)...) {
		inGo = append(inGo, strings.ToUpper(name))
	}
	if strings.Join(inC, " ") != strings.Join(inGo, " ") {
		t.Errorf("tags of C %v\nof Go %v", inC, inGo)
	}
	for name, n := range map[string]uint32{
		"PASS": uint32(Pass), "HIT": uint32(Hit), "BUILD": uint32(Build), "DONE": uint32(Done),
		"RESTORED": uint32(Restored), "REFUSED": uint32(Refused), "BUILT": uint32(Built), "FAILED": uint32(Failed),
		"ABANDONED": uint32(Abandoned), "SETTINGS": Settings, "MOVED": Moved,
	} {
		if !regexp.MustCompile(fmt.Sprintf(`\bKSF_%s = %d\b`, name, n)).Match(b) {
			t.Errorf("KSF_%s is not %d in the header", name, n)
		}
	}
}
