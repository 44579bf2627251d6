//go:build !nogpu

package cuda_test

import (
	"bytes"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/cuda"
)

func stream(t testing.TB, c *cuda.Context) *cuda.Stream {
	t.Helper()
	s, err := c.NewStream(cuda.StreamOptions{NonBlocking: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { released(t, s) })
	return s
}

func memory(t testing.TB, c *cuda.Context, size int) *cuda.Memory {
	t.Helper()
	m, err := c.NewMemory(size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { released(t, m) })
	return m
}

// TestTransfers runs on the fake driver and on a real one.
func TestTransfers(t *testing.T) {
	c := open(t)
	for name, s := range map[string]*cuda.Stream{"own": stream(t, c), "default": c.DefaultStream()} {
		a, b := memory(t, c, 64), memory(t, c, 32)
		sent := make([]int32, 16)
		for i := range sent {
			sent[i] = int32(i)
		}
		got := make([]int32, 8)
		err := errors.Join(
			s.Write(a, 0, cuda.Bytes(sent)), s.Fill(b, []byte{0}, 0, 32), s.Copy(a, 16, b, 4, 24),
			s.Fill(b, []byte{1, 0, 0, 0}, 28, 4), s.Read(b, 0, cuda.Bytes(got)), s.Write(a, 64, nil))
		if diff := cmp.Diff([]int32{0, 4, 5, 6, 7, 8, 9, 1}, got); diff != "" || err != nil {
			t.Errorf("%s stream: %v (-want +got):\n%s", name, err, diff)
		}
		for what, err := range map[string]error{
			"write": s.Write(b, 30, make([]byte, 4)), "read": s.Read(b, -1, make([]byte, 4)), "fill": s.Fill(b, make([]byte, 3), 0, 3),
			"fill of parts": s.Fill(b, []byte{1, 2, 3, 4}, 2, 4), "copy": s.Copy(a, 0, b, 0, 64), "fill by nothing": s.Fill(b, nil, 0, 4),
		} {
			if what == "fill" && err == nil {
				continue // three equal bytes are a pattern of one
			}
			if !errors.Is(err, cuda.ErrArgument) {
				t.Errorf("%s: %v", what, err)
			}
		}
		released(t, a)
		if err := s.Read(a, 0, make([]byte, 4)); !errors.Is(err, cuda.ErrReleased) {
			t.Errorf("released memory: %v", err)
		}
	}
	if _, err := c.NewMemory(0); !errors.Is(err, cuda.ErrArgument) {
		t.Errorf("no bytes: %v", err)
	}
	if _, err := c.NewMemory(1 << 50); !errors.Is(err, kernstash.ErrOutOfResources) || !errors.Is(err, cuda.OutOfMemory) {
		t.Errorf("too many: %v", err)
	}
	if free, total, err := c.MemoryInfo(); err != nil || free == 0 || total < free {
		t.Errorf("memory %d of %d, %v", free, total, err)
	}
}

// TestEvents runs on the fake driver and on a real one.
func TestEvents(t *testing.T) {
	c := open(t)
	s, other := stream(t, c), stream(t, c)
	first, err := s.Record()
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.Record()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(other.Wait(second), second.Synchronize(), s.Synchronize(), other.Synchronize(), c.Synchronize()); err != nil {
		t.Fatal(err)
	}
	if done, err := second.Done(); !done || err != nil {
		t.Errorf("done %v, %v", done, err)
	}
	if done, err := s.Done(); !done || err != nil {
		t.Errorf("stream done %v, %v", done, err)
	}
	between, err := second.Since(first)
	if err != nil || between < 0 || between > time.Second {
		t.Errorf("between %v, %v", between, err)
	}
	if !onNVIDIA() {
		if between != 1500*time.Microsecond {
			t.Errorf("between %v, want 1.5 ms", between)
		}
		failNext(t, "cuEventQuery", int(cuda.NotReady), 0, 1)
		failNext(t, "cuStreamQuery", int(cuda.NotReady), 0, 1)
		if done, err := second.Done(); done || err != nil {
			t.Errorf("done %v, %v", done, err)
		}
		if done, err := s.Done(); done || err != nil {
			t.Errorf("stream done %v, %v", done, err)
		}
	}
	released(t, first)
	if _, err := second.Since(first); !errors.Is(err, cuda.ErrReleased) {
		t.Errorf("a released event: %v", err)
	}
	if err := s.Wait(first); !errors.Is(err, cuda.ErrReleased) {
		t.Errorf("a released event: %v", err)
	}
	released(t, second)
}

// TestContexts: what is current on a thread does not change, and each kind of
// context is given back as it should be. It runs on the fake driver and on a real
// one.
func TestContexts(t *testing.T) {
	d := device(t)
	own, err := cuda.OpenOwn(d)
	if err != nil {
		t.Fatal(err)
	}
	adopted, err := cuda.Adopt(own.Handle())
	if err != nil {
		t.Fatal(err)
	}
	if got := adopted.Device(); got.Ordinal() != d.Ordinal() || got.Name != d.Name {
		t.Errorf("adopted on %+v", got)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if c, err := cuda.Current(); c != 0 || err != nil {
		t.Errorf("current context %x, %v", c, err)
	}
	err = adopted.Within(func() error {
		c, err := cuda.Current()
		if c != own.Handle() {
			t.Errorf("within: current context %x, want %x", c, own.Handle())
		}
		p := memory(t, adopted, 16)
		return errors.Join(err, adopted.DefaultStream().Fill(p, []byte{1}, 0, 16), p.Release())
	})
	if err != nil {
		t.Error(err)
	}
	if c, err := cuda.Current(); c != 0 || err != nil {
		t.Errorf("current context %x, %v", c, err)
	}
	func() {
		defer func() {
			if recover() != "on the way" {
				t.Error("no panic")
			}
		}()
		_ = adopted.Within(func() error { panic("on the way") })
	}()
	if c, err := cuda.Current(); c != 0 || err != nil {
		t.Errorf("current context after a panic: %x, %v", c, err)
	}
	m := memory(t, adopted, 16)
	released(t, adopted)
	released(t, m) // too late, but no call with a handle that is gone
	if err := adopted.Synchronize(); !errors.Is(err, cuda.ErrReleased) {
		t.Errorf("a released context: %v", err)
	}
	if err := own.Synchronize(); err != nil {
		t.Errorf("the adopted context went with who adopted it: %v", err)
	}
	released(t, own)
	released(t, own)
	if _, err := cuda.Adopt(0); !errors.Is(err, cuda.ErrArgument) {
		t.Errorf("NULL adopted: %v", err)
	}
}

// TestModules: code that the application has.
func TestModules(t *testing.T) {
	fake(t)
	before := left(t)
	c := open(t)
	m, err := c.LoadModule([]byte(ptxSource))
	if err != nil {
		t.Fatal(err)
	}
	if m.Log() != "ptxas info: compiled" {
		t.Errorf("log %q", m.Log())
	}
	if _, size, err := m.Variable("params_8_4"); size != 4 || err != nil { // the fake one finds any text
		t.Errorf("variable of %d bytes, %v", size, err)
	}
	if _, _, err := m.Variable("absent"); !errors.Is(err, cuda.NotFound) {
		t.Errorf("an absent variable: %v", err)
	}
	k, err := m.Kernel("params_8_4")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(cuda.Resources{BlockThreads: 0, Shared: 1, Constant: 2, Local: 3, Registers: 4, Binary: 6}, must(t)(k.Resources())); diff != "" {
		t.Errorf("resources, by the numbers of the attributes (-want +got):\n%s", diff)
	}
	if err := k.SetSharedMemory(100 << 10); err != nil {
		t.Error(err)
	}
	released(t, m)
	released(t, m)
	if _, err := m.Kernel("params_8_4"); !errors.Is(err, cuda.ErrReleased) {
		t.Errorf("a released module: %v", err)
	}
	if err := k.Launch(nil, []int{1}, []int{1}, nil, int32(1)); !errors.Is(err, cuda.ErrReleased) {
		t.Errorf("a kernel of a released module: %v", err)
	}
	var e *kernstash.BuildError
	if _, err := c.LoadModule([]byte("BROKEN")); !errors.As(err, &e) || e.Code != int(cuda.InvalidPTX) || e.Log != "ptxas fatal: this is BROKEN" {
		t.Errorf("broken PTX: %v", err)
	}
	if _, err := c.LoadModule(nil); !errors.Is(err, cuda.ErrArgument) {
		t.Errorf("no code: %v", err)
	}
	if after := left(t); after["modules"] != before["modules"] {
		t.Errorf("%d modules left", after["modules"])
	}
}

func must(t testing.TB) func(cuda.Resources, error) cuda.Resources {
	return func(r cuda.Resources, err error) cuda.Resources {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
}

type pair struct {
	A int16
	_ int16
	B float32
}

// TestArguments: a kernel gets the bytes that it reads, and arguments that are not
// what its parameters are get an error.
func TestArguments(t *testing.T) {
	fake(t)
	c := open(t)
	var text bytes.Buffer
	text.WriteString(".version 7.8\n")
	for _, name := range []string{"params_8_4_1_8_4_12", "params_8_8_3"} {
		text.WriteString(".entry " + name + "()\n")
	}
	m, err := c.LoadModule(text.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	defer released(t, m)
	kernel := func(name string) *cuda.Kernel {
		k, err := m.Kernel(name)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	one, grid := kernel("params_8_4_1_8_4_12"), []int{2, 3}
	err = one.Launch(nil, grid, []int{32}, cuda.Pointer(0x1122), int32(-2), true, 1.0, float32(2), [3]uint32{1, 2, 3})
	want := []byte{
		0x22, 0x11, 0, 0, 0, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0x40,
		1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0,
	}
	if diff := cmp.Diff(want, launchedWith(t)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	two := kernel("params_8_8_3")
	err = two.LaunchShape(c.DefaultStream(), cuda.Shape{Grid: []int{1}, Block: []int{1, 1, 1}, Shared: 128}, nil, pair{A: 3, B: 1}, []byte{7, 8, 9})
	want = []byte{0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0x80, 0x3f, 7, 8, 9}
	if diff := cmp.Diff(want, launchedWith(t)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	bytes3 := []byte{1, 2, 3}
	for name, err := range map[string]error{
		"too few":       two.Launch(nil, grid, grid, nil),
		"a size":        two.Launch(nil, grid, grid, nil, int32(1), bytes3),
		"an int":        two.Launch(nil, grid, grid, nil, 1, bytes3),
		"a string":      two.Launch(nil, grid, grid, nil, "12345678", bytes3),
		"a pointer":     two.Launch(nil, grid, grid, nil, new(int64), bytes3),
		"no bytes":      two.Launch(nil, grid, grid, nil, int64(1), []byte{}),
		"no grid":       two.Launch(nil, nil, grid, nil, int64(1), bytes3),
		"an empty grid": two.Launch(nil, []int{0}, grid, nil, int64(1), bytes3),
		"four":          two.Launch(nil, grid, []int{1, 1, 1, 1}, nil, int64(1), bytes3),
		"shared memory": two.LaunchShape(nil, cuda.Shape{Grid: grid, Block: grid, Shared: -1}, nil, int64(1), bytes3),
	} {
		if !errors.Is(err, cuda.ErrArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := two.Launch(nil, grid, []int{2048}, nil, int64(1), bytes3); !errors.Is(err, cuda.InvalidValue) {
		t.Errorf("too many threads: %v", err)
	}
	gone := memory(t, c, 4)
	released(t, gone)
	if err := two.Launch(nil, grid, grid, gone, int64(1), bytes3); !errors.Is(err, cuda.ErrReleased) {
		t.Errorf("released memory: %v", err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				if err := two.Launch(nil, grid, []int{1}, nil, int64(1), bytes3); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// TestContextThatEndedBefore: what was in a context that the application has ended
// went with it, and giving it back is no error.
func TestContextThatEndedBefore(t *testing.T) {
	fake(t)
	theirs, err := cuda.OpenOwn(device(t))
	if err != nil {
		t.Fatal(err)
	}
	c, err := cuda.Adopt(theirs.Handle())
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.LoadModule([]byte(ptxSource))
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.NewStream(cuda.StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	released(t, theirs)
	if err := c.Synchronize(); !errors.Is(err, cuda.ContextIsDestroyed) {
		t.Errorf("a context that was ended: %v", err)
	}
	released(t, m)
	released(t, s)
	released(t, c)
}
