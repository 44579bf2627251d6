//go:build linux

package kernstash

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/faultfs"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// metaConfig is how a worker of the metamorphic test is set up.
type metaConfig struct {
	Root, ConfigFile string
	Layers           []string
	MaxSize          int64
	Eviction         Eviction
	NoDisk, NoMemory bool
	MemoryPrograms   int
	Flags            map[string]string
	Slow, NoLocks    bool
	Deferred         bool
}

// metaProgram is a request: what it says decides what the builder makes.
type metaProgram struct {
	Source, Options string
	Constant        uint32
	Fails, Unstored bool // a diagnostic; not cacheable
}

func metaProgramAt(i int) metaProgram {
	p := metaProgram{Source: fmt.Sprintf("kernel void k%d() {}", i/3), Options: fmt.Sprint("-DN=", i%3), Constant: uint32(i % 2)}
	switch {
	case i%11 == 7:
		p.Source, p.Fails = p.Source+" error", true
	case i%11 == 9:
		p.Source, p.Unstored = p.Source+" // at\nconstant char *t = __TIME__;", true
	case i%5 == 3:
		p.Source += strings.Repeat("/* large */", 300)
	}
	return p
}

// code is what the builder makes of a program.
func (p metaProgram) code() string {
	return fmt.Sprintf("%s|%s|%x", p.Source, p.Options, key.Uint32(7, p.Constant).Value)
}

func metaCode(r *key.Recipe) string {
	return fmt.Sprintf("%s|%s|%x", r.Image.Units()[0].Code, strings.Join(r.Options.Compile, " "), r.Constants[0].Value)
}

// metaRuntime is the builder: what it makes depends on the recipe alone.
type metaRuntime struct {
	deferred bool
	builds   atomic.Int64
}

func (*metaRuntime) Devices() int { return 1 }

func (*metaRuntime) Identify(context.Context, int) (key.Device, error) {
	return key.Device{API: "meta", Name: "M"}, nil
}
func (*metaRuntime) Variables(int) ([]key.Pair, error) { return nil, nil }
func (m *metaRuntime) Defers(Job) bool                 { return m.deferred }

func (m *metaRuntime) Build(_ context.Context, job Job) (string, *store.Artifact, error) {
	m.builds.Add(1)
	code := metaCode(job.Recipe)
	if strings.Contains(code, " error") {
		return "", nil, &BuildError{Code: 7}
	}
	if m.deferred {
		return code, nil, nil
	}
	return code, m.artifact(code, nil), nil
}

func (m *metaRuntime) artifact(code string, variants []string) *store.Artifact {
	form := store.FormFinal
	if m.deferred {
		form = store.FormDeferred
	}
	return &store.Artifact{Binaries: []store.Binary{{Form: form, Data: []byte(code)}}, Variants: variants}
}

func (*metaRuntime) Load(_ context.Context, _ Job, a *store.Artifact) (string, error) {
	return string(a.Binaries[0].Data), nil
}

func (m *metaRuntime) Capture(_ context.Context, _ Job, p string, variants []string, _ bool) (*store.Artifact, error) {
	return m.artifact(p, variants), nil
}
func (*metaRuntime) Kernel(string, string) (struct{}, error) { return struct{}{}, nil }
func (*metaRuntime) ReleaseProgram(string)                   {}
func (*metaRuntime) ReleaseKernel(struct{})                  {}

// metaWorker is one process of the application, or what would be one.
type metaWorker struct {
	c  *Cache
	x  *Context[string, struct{}]
	rt *metaRuntime
}

// metaDo is a command to a worker: open, close, or the programs to ask for.
type metaDo struct {
	Open     *metaConfig
	Close    bool
	Programs []int
}

// metaDone is its answer.
type metaDone struct {
	Err     string
	Results []metaResult
	Stats   stats.Snapshot // of Close
	Builds  int64          // likewise
}

// metaResult is what came of a request.
type metaResult struct {
	Disk, Failed bool
	Wrong        string
	Path         string // of the entry, below the root
}

func (w *metaWorker) do(cmd metaDo) (done metaDone) {
	switch {
	case cmd.Open != nil:
		if err := w.open(cmd.Open); err != nil {
			done.Err = err.Error()
		}
	case cmd.Close:
		if err := w.c.Close(); err != nil {
			done.Err = err.Error()
		}
		done.Stats, done.Builds = w.c.Stats(), w.rt.builds.Load()
	default:
		for _, i := range cmd.Programs {
			done.Results = append(done.Results, w.request(metaProgramAt(i)))
		}
		if !w.c.Flush(3 * time.Minute) {
			done.Err = "flush: not done in time"
		}
	}
	return done
}

func (w *metaWorker) open(o *metaConfig) (err error) {
	b := safefs.Options{NoOpenat2: o.Slow, NoTmpfile: o.Slow}
	if o.NoLocks {
		b.Hook = faultfs.New(faultfs.Rule{
			Ops: []safefs.Op{safefs.OpLock}, Nth: 1, Sticky: true, Fault: faultfs.Fault{Err: syscall.ENOLCK},
		}).Hook()
	}
	w.c, err = openOn(func(o disk.Options) cache.Disk { return disk.New(o.WithFiles(b)) }, Options{
		Dir: o.Root, ConfigFile: o.ConfigFile, Layers: o.Layers, MaxSize: o.MaxSize, Eviction: o.Eviction,
		NoDisk: o.NoDisk, NoMemory: o.NoMemory, MemoryPrograms: o.MemoryPrograms, Flags: o.Flags,
	})
	if err != nil {
		return err
	}
	w.rt = &metaRuntime{deferred: o.Deferred}
	w.x = NewContext(w.c, w.rt, ContextOptions{})
	return nil
}

func (w *metaWorker) request(p metaProgram) (r metaResult) {
	img, err := NewImage(key.OpenCLC, []byte(p.Source))
	if err != nil {
		return metaResult{Wrong: err.Error()}
	}
	got, err := w.x.Program(context.Background(), Request{
		Image: img, CompileOptions: p.Options, Constants: []key.SpecConstant{key.Uint32(7, p.Constant)},
	})
	var failed *BuildError
	switch {
	case p.Fails && errors.As(err, &failed) && failed.Code == 7:
		return metaResult{Failed: true}
	case p.Fails || err != nil:
		return metaResult{Wrong: fmt.Sprint("error ", err)}
	}
	defer got.Release()
	code, err := got.Native(0)
	if err != nil || code != p.code() {
		r.Wrong = fmt.Sprintf("code %q, %v; want %q", code, err, p.code())
	}
	got.Launched(0, "k 8")
	r.Disk = got.Origin() == Disk
	if k := got.Key(0); !k.IsZero() {
		for _, d := range []key.Digest{k.Device, k.Image, k.Constants, k.Options} {
			r.Path = filepath.Join(r.Path, hex.EncodeToString(d[:16]))
		}
	}
	return r
}

// metaVariable makes the test binary a worker that takes commands, one JSON
// value each, from its standard input.
const metaVariable = "KERNSTASH_TEST_META"

func init() {
	if os.Getenv(metaVariable) == "" {
		return
	}
	var w metaWorker
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var cmd metaDo
		if err := in.Decode(&cmd); err != nil {
			os.Exit(0)
		}
		if err := out.Encode(w.do(cmd)); err != nil {
			os.Exit(1)
		}
	}
}

// metaProcess is a worker in a process of its own.
type metaProcess struct {
	cmd *exec.Cmd
	in  *json.Encoder
	out *json.Decoder
	end io.Closer
}

func startMeta(t *testing.T) *metaProcess {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), metaVariable+"=1", "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &metaProcess{cmd, json.NewEncoder(in), json.NewDecoder(out), in}
}

func (p *metaProcess) do(cmd metaDo) (done metaDone) {
	if err := p.in.Encode(cmd); err != nil {
		return metaDone{Err: err.Error()}
	}
	if err := p.out.Decode(&done); err != nil {
		return metaDone{Err: err.Error()}
	}
	return done
}
