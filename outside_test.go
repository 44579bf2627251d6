package kernstash_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/key"
)

// A process is one, as far as a cache can tell: a Cache of its own on a root, and a
// compiler that says when it begins.
type process struct {
	cache   *kernstash.Cache
	context *kernstash.Context[[]byte, struct{}]
	begun   chan time.Time     // each compilation
	compile func(image string) // what a compilation does besides; nil: nothing
}

func startProcess(t *testing.T, root string) *process {
	t.Helper()
	p := &process{begun: make(chan time.Time, 10)}
	config := root + ".json"
	err := os.WriteFile(config, []byte(`{"close-timeout": "3m"}`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if p.cache, err = kernstash.Open(kernstash.Options{Dir: root, ConfigFile: config}); err != nil {
		t.Fatal(err)
	}
	p.context = kernstash.NewContext(p.cache, kernstash.Compiler{
		Device: key.Device{API: "own", Name: "slow"},
		Compile: func(_ context.Context, r *key.Recipe) ([]byte, error) {
			p.begun <- time.Now()
			if p.compile != nil {
				p.compile(string(r.Image.Units()[0].Code))
			}
			return []byte("code"), nil
		},
	}, kernstash.ContextOptions{})
	return p
}

// ask asks for a program, and returns where it came from.
func (p *process) ask(t *testing.T, source string) kernstash.Origin {
	t.Helper()
	image, err := kernstash.NewImage(key.Opaque, []byte(source))
	if err != nil {
		t.Error(err)
		return 0
	}
	program, err := p.context.Program(t.Context(), kernstash.Request{Image: image})
	if err != nil {
		t.Error(err)
		return 0
	}
	defer program.Release()
	return program.Origin()
}

// waits returns how long a request waited before it was compiled.
func (p *process) waits(t *testing.T, source string) time.Duration {
	t.Helper()
	begin := time.Now()
	if o := p.ask(t, source); o != kernstash.Compiled {
		t.Errorf("from %v", o)
		return 0
	}
	return (<-p.begun).Sub(begin)
}

// A process that is stopped while it builds delays another by a time that follows the size
// of the source, a minute at most, though the first that waited is stopped as well; and
// the next programs by a second, for minutes.
func TestStoppedProcessDelaysOthers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		source int
		want   time.Duration
	}{
		"small": {1000, 16 * time.Second},
		"large": {1 << 20, 60 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := filepath.Join(t.TempDir(), "root")
			synctest.Test(t, func(t *testing.T) {
				resume := make(chan bool)
				source := func(i int) string { return strings.Repeat("x", test.source) + string(rune('a'+i)) }
				var stopped []*process
				stop := func(i int) {
					p := startProcess(t, root)
					p.compile = func(string) { <-resume }
					stopped = append(stopped, p)
					go p.ask(t, source(i))
					<-p.begun
				}
				stop(0)
				stop(0) // waited, gave up, builds, and is stopped as well
				waiter := startProcess(t, root)
				if got := waiter.waits(t, source(0)); got < test.want-time.Second || got > test.want+time.Second {
					t.Errorf("the first program waited %v, want about %v", got, test.want)
				}
				for i := 1; i < 4; i++ {
					stop(i)
					if got := waiter.waits(t, source(i)); got > 1100*time.Millisecond {
						t.Errorf("another program waited %v, want a second", got)
					}
				}
				time.Sleep(5 * time.Minute)
				stop(4)
				if got := waiter.waits(t, source(4)); got < test.want/2 {
					t.Errorf("minutes later, a program waited %v, want about %v", got, test.want)
				}
				close(resume)
				synctest.Wait()
				for _, p := range append(stopped, waiter) {
					if err := p.cache.Close(); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// Of those who gave up on a stopped process one builds, and the others find what it built.
func TestOneOfThoseWhoGaveUpBuilds(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "root")
	synctest.Test(t, func(t *testing.T) {
		resume := make(chan bool)
		stopped := startProcess(t, root)
		stopped.compile = func(string) { <-resume }
		go stopped.ask(t, "source")
		<-stopped.begun
		origins := make(chan kernstash.Origin)
		var all []*process
		for range 4 {
			p := startProcess(t, root)
			p.compile = func(string) { time.Sleep(2 * time.Second) }
			all = append(all, p)
			go func() { origins <- p.ask(t, "source") }()
		}
		got := make(map[kernstash.Origin]int)
		for range all {
			got[<-origins]++
		}
		if got[kernstash.Compiled] != 1 || got[kernstash.Disk] != 3 {
			t.Errorf("%v: one compiles, three find what it did", got)
		}
		close(resume)
		synctest.Wait()
		for _, p := range append(all, stopped) {
			if err := p.cache.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}
