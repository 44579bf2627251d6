package top

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/term"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/pty"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
)

func newCache(t *testing.T) cli.Cache {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "root")
	s, err := settings.Load(settings.Inputs{Environ: []string{"KERNSTASH_DIR=" + dir}})
	if err != nil {
		t.Fatal(err)
	}
	d := disk.New(disk.Options{Dir: dir})
	t.Cleanup(func() { d.Close() })
	return cli.Cache{App: &cli.App{Err: os.Stderr}, Disk: d, Settings: s}
}

// lockBuild takes the build lock of a key.
func lockBuild(t *testing.T, d *disk.Store, n int) (unlock func()) {
	t.Helper()
	digest := func(part string) key.Digest { return sha256.Sum256(fmt.Append(nil, part, n)) }
	unlock, err := d.Lock(context.Background(), key.New(digest("device"), digest("image"), digest("constants"), digest("options")), 0)
	if err != nil {
		t.Fatal(err)
	}
	return unlock
}

// TestBuilding: who holds build locks is told, and nothing of other locks and other caches.
func TestBuilding(t *testing.T) {
	t.Parallel()
	c, other := newCache(t), newCache(t)
	want := func(n int) {
		t.Helper()
		f, err := look(context.Background(), c, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Building) != n {
			t.Errorf("%+v, want %d", f.Building, n)
		}
		for _, b := range f.Building {
			if b.App != "top.test" || b.PID != os.Getpid() {
				t.Errorf("%+v", b)
			}
		}
	}
	want(0)
	one := lockBuild(t, c.Disk, 1)
	two := lockBuild(t, c.Disk, 2)
	defer lockBuild(t, other.Disk, 3)()
	want(2)
	one()
	want(1)
	two()
	want(0)
}

func TestFrame(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 26, 12, 0, 0, 0, time.Local)
	c := newCache(t)
	m := &model{}
	frame := func(after time.Duration, hits int64, building ...Build) string {
		f, err := look(context.Background(), c, at.Add(after))
		if err != nil {
			t.Fatal(err)
		}
		f.Status.Dir = "/cache"
		f.Counts[stats.DiskHits], f.Building = hits, building
		m.take(f)
		return f.text(80, 24)
	}
	board := `
cache     on under 'kernstash run', in /cache
saved     0 s today, 0 s in 7 days, 0 s in all
hit rate  – today, – in 7 days, – in all
apps      none has been recorded
size      0 B (no limit), 0 entries
problem   none known

`
	want := "kernstash top, 12:00:00\n" + board + "building  nothing\nworker    does not run, 0 jobs waiting\n"
	if d := cmp.Diff(want, frame(0, 100)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	mine, others := Build{"train.py", 7, 1}, Build{at: 2}
	frame(30*time.Second, 150, mine)
	want = "kernstash top, 12:01:10\n" + board + `rate      4.29 hits a second, 0.00 misses a second, in the last 70 s
building  train.py, process 7, seen for 40.0 s
          a process of another user
worker    does not run, 0 jobs waiting
`
	if d := cmp.Diff(want, frame(70*time.Second, 400, mine, others)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	f := *m.frame
	f.Worker = workerReport{Running: true, Building: "0123.capture", Kernels: []string{"add", "mul"}, Waiting: 2}
	if text := f.text(80, 24); !strings.Contains(text, "\nworker    builds add, mul, 2 jobs waiting\n") {
		t.Error(text)
	}
	for i := range 50 {
		f.Building = append(f.Building, Build{strings.Repeat("long name ", 10), i, int64(i)})
	}
	f.err = errors.New(strings.Repeat("x", 200))
	for _, size := range [][2]int{{80, 24}, {40, 16}, {200, 100}, {20, 3}} {
		lines := strings.Split(strings.TrimSuffix(f.text(size[0], size[1]), "\n"), "\n")
		if len(lines) > size[1] {
			t.Errorf("%v: %d lines", size, len(lines))
		}
		for _, line := range lines {
			if utf8.RuneCountInString(line) > size[0] {
				t.Errorf("%v: %q", size, line)
			}
		}
		if text := strings.Join(lines, "\n"); size[1] >= 16 && (!strings.Contains(text, "\nworker ") || !strings.Contains(text, "\nerror ")) {
			t.Errorf("%v: %s", size, text)
		}
	}
}

// TestWatch: it shows frames on a terminal, until q is typed or it is interrupted, and leaves the terminal as it was.
func TestWatch(t *testing.T) {
	t.Parallel()
	for _, interrupted := range []bool{false, true} {
		t.Run(fmt.Sprint(interrupted), func(t *testing.T) {
			t.Parallel()
			person, program, err := pty.Open()
			if err != nil {
				t.Skip("NOT RUN: no terminals here:", err)
			}
			defer person.Close()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			c := newCache(t)
			c.In, c.Stream = program, program
			before, err := term.GetState(int(person.Fd()))
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() {
				err := Show(ctx, c, Options{Every: 10 * time.Millisecond})
				program.Close()
				done <- err
			}()
			var seen bytes.Buffer
			b := make([]byte, 4096)
			for !strings.Contains(seen.String(), "rate") || !strings.Contains(seen.String(), "q quits") {
				n, err := person.Read(b)
				if err != nil {
					t.Fatalf("%v: %q", err, seen.String())
				}
				seen.Write(b[:n])
			}
			if interrupted {
				cancel()
			} else if _, err := person.WriteString("q"); err != nil {
				t.Fatal(err)
			}
			go func() { // what it writes at its end is read
				for {
					if _, err := person.Read(b); err != nil {
						return
					}
				}
			}()
			if got := <-done; errors.Is(got, context.Canceled) != interrupted || !interrupted && got != nil {
				t.Error(got)
			}
			if after, err := term.GetState(int(person.Fd())); err != nil || *after != *before {
				t.Errorf("the terminal is another: %+v, %v, was %+v", after, err, before)
			}
		})
	}
}
