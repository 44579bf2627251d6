package engine

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
)

// Tests start themselves anew as other processes.
const childVariable = "KERNSTASH_ENGINE_TEST_CHILD"

func TestMain(m *testing.M) {
	if root := os.Getenv(childVariable); root != "" {
		os.Exit(child(root))
	}
	os.Exit(m.Run())
}

// child goes on with one request: it says each step, and builds when it is told to.
func child(root string) int {
	var counters stats.Counters
	d := disk.New(disk.Options{Dir: root, Recorder: &counters})
	e := New(Options{Settings: new(settings.Settings), Store: d, Blobs: d, Recorder: &counters})
	img, err := key.NewImage(key.OpenCLC, []byte(k1))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	ctx := context.Background()
	t, err := e.Session(newHost(nil), SessionOptions{}).Begin(ctx, Request{Image: NewImage(img)})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	g := t.Group(0)
	for {
		step := g.Next(ctx)
		fmt.Println(step.Kind)
		switch step.Kind {
		case Wait:
			<-step.Ready
		case Hit:
			g.Loaded(1)
		case Build:
			fmt.Scanln()
			g.Built(Outcome{Artifact: artifact("the child"), Took: time.Second})
		default:
			e.Close(time.Now().Add(time.Minute))
			_ = d.Close()
			return 0
		}
	}
}

type process struct {
	*exec.Cmd
	in  io.Writer
	out *bufio.Scanner
}

func startProcess(t *testing.T, root string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+root)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &process{cmd, in, bufio.NewScanner(out)}
}

func (p *process) want(t *testing.T, line string) {
	t.Helper()
	if !p.out.Scan() || p.out.Text() != line {
		t.Fatalf("the process says %q, want %q", p.out.Text(), line)
	}
}

// Of several processes one builds, and the others load what it stored.
func TestOneOfProcessesBuilds(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	builder := startProcess(t, root)
	builder.want(t, "build")
	waiters := []*process{startProcess(t, root), startProcess(t, root)}
	for _, w := range waiters {
		w.want(t, "wait")
	}
	fmt.Fprintln(builder.in)
	builder.want(t, "ended")
	for _, w := range waiters {
		w.want(t, "hit")
		w.want(t, "ended")
	}
}

// The lock of a builder that is killed ends with it: one of those who wait builds.
func TestKilledBuilder(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	builder := startProcess(t, root)
	builder.want(t, "build")
	run := start(t, root, "on")
	g := begin(t, run.session(newHost(t)), Request{Image: source(t, k1)}).Group(0)
	ready := wantStep(t, g, Wait).Ready
	if err := builder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ready
	wantStep(t, g, Build)
	g.Built(Outcome{Artifact: artifact(k1), Took: 1})
	run.finish()
	run.want(map[stats.Counter]int64{stats.DiskWaits: 1, stats.DiskWaitsGivenUp: 0, stats.DiskPuts: 1})
	if all := files(t, root, ".bin"); len(all) != 1 {
		t.Errorf("entries: %q", all)
	}
}
