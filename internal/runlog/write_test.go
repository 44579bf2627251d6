package runlog

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestMain(m *testing.M) {
	if os.Getenv("RUNLOG_WRITER") == "" {
		os.Exit(m.Run())
	}
	n, _ := strconv.Atoi(os.Getenv("RUNLOG_WRITER"))
	l := FromEnvironment(nil)
	for range n {
		if err := l.Write(worst()); err != nil {
			panic(err)
		}
	}
}

// worst is an event whose line is as long as any.
func worst() Event {
	long := strings.Repeat("\x01", MaxLine)
	return Event{
		Kind: Asked, FrontEnd: long, Exe: long, Key: long, Label: long, Outcome: Disk, Reason: long, Nearest: long,
		Observed: Unknown, Spent: -1<<63 + 1, Saved: 1<<63 - 1, Bytes: 1<<63 - 1,
	}
}

func newLog(t *testing.T) (*Log, string) {
	path := filepath.Join(t.TempDir(), "report")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return At(path), path
}

func TestLinesFit(t *testing.T) {
	t.Parallel()
	e := worst()
	e.PID = 1<<31 - 1
	b := encode(e)
	if len(b) > MaxLine || len(b) < MaxLine/2 {
		t.Errorf("%d bytes", len(b))
	}
	if _, ok := decode(b[:len(b)-1]); !ok {
		t.Error("it does not read back")
	}
}

func TestWriteReadsBack(t *testing.T) {
	t.Parallel()
	want := Event{
		Kind: Asked, PID: 5, FrontEnd: "opencl-layer", Exe: "/bin/x", Key: "ab12", Label: `k "1" é`, Outcome: Compiled,
		Reason: "r", Nearest: "n", Observed: Equal, Spent: 1500 * time.Microsecond, Saved: -time.Second, Bytes: 9,
	}
	b := encode(want)
	got, ok := decode(b[:len(b)-1])
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Error(ok, diff)
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"abcdef": "abcdef", "abcdefg": "abc…", "abéé": "abéé", "aéééé": "aé…", "ababéé": "aba…"} {
		if got := cut(in, 6); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestManyWriters: lines of several processes and goroutines do not mix.
func TestManyWriters(t *testing.T) {
	t.Parallel()
	_, path := newLog(t)
	const processes, lines = 4, 300
	var all sync.WaitGroup
	for range processes {
		all.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", Variable+"="+path, "RUNLOG_WRITER="+strconv.Itoa(lines))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	all.Wait()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := Read(f)
	if err != nil || s.Garbage != 0 || s.Outcomes.Disk != processes*lines || s.Processes != processes {
		t.Errorf("%d requests of %d processes, %d lines of garbage, %v", s.Outcomes.Disk, s.Processes, s.Garbage, err)
	}
}

// TestWriteRefuses: nothing is made, followed, waited for or filled.
func TestWriteRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for name, make := range map[string]func() error{
		"absent":    func() error { return nil },
		"directory": func() error { return os.Mkdir(path("directory"), 0o700) },
		"link": func() error {
			return errors.Join(os.WriteFile(path("target"), nil, 0o600), os.Symlink("target", path("link")))
		},
		"fifo": func() error { return makeFIFO(path("fifo")) },
		"full": func() error {
			return errors.Join(os.WriteFile(path("full"), nil, 0o600), os.Truncate(path("full"), MaxSize-MaxLine+1))
		},
	} {
		if err := make(); err != nil {
			t.Fatal(err)
		}
		if err := At(path(name)).Write(Event{Kind: Out}); err == nil {
			t.Errorf("%s: written to", name)
		}
	}
	if b, _ := os.ReadFile(path("target")); len(b) > 0 {
		t.Errorf("the link's target holds %q", b)
	}
	if _, err := os.Lstat(path("absent")); err == nil {
		t.Error("a file was made")
	}
	var none *Log
	if err := none.Write(Event{Kind: Out}); err != nil {
		t.Error(err)
	}
}

func BenchmarkWrite(b *testing.B) {
	path := filepath.Join(b.TempDir(), "report")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		b.Fatal(err)
	}
	l := At(path)
	for b.Loop() {
		if err := l.Write(Event{Kind: Asked, Outcome: Disk, Label: "vecadd", Spent: time.Millisecond}); err != nil && !errors.Is(err, errFull) {
			b.Fatal(err)
		}
	}
}

// What a process writes that is not ours is copied as it is, whatever is in it.
func TestCopyOfWhatNobodyWrites(t *testing.T) {
	t.Parallel()
	l, path := newLog(t)
	line := `{"event":"asked","pid":1,"outcome":"disk","new":7,"observed":"` + strings.Repeat("<", 1000) + `"}` + "\n"
	if err := l.Copy(strings.NewReader(line)); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != line {
		t.Errorf("%q, %v", got, err)
	}
}

func TestCopy(t *testing.T) {
	t.Parallel()
	l, path := newLog(t)
	if err := l.Write(Event{Kind: Loaded, PID: 1, FrontEnd: "first"}); err != nil {
		t.Fatal(err)
	}
	const inner = `{"event":"loaded","pid":2,"front_end":"x"}` + "\n" + `garbage` + "\n" + `{"event":"job","pid":2}` + "\n"
	if err := l.Copy(strings.NewReader(inner + strings.Repeat("y", 2*MaxLine) + "\n" + `{"event":"job","pid":3`)); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := Read(f)
	if err != nil || s.Processes != 2 || s.Jobs != 1 || len(s.FrontEnds) != 2 || s.Garbage != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
