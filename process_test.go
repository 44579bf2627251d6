package kernstash

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
)

// Tests start themselves anew as the processes of an application.
const childVariable = "KERNSTASH_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		os.Exit(child())
	}
	os.Exit(m.Run())
}

// child builds one program with a slow compiler and prints where it came from.
func child() int {
	fail := func(err error) int {
		fmt.Println(err)
		return 1
	}
	c, err := Open(Options{Dir: os.Getenv("CHILD_ROOT"), ConfigFile: os.Getenv("CHILD_CONFIG")})
	if err != nil {
		return fail(err)
	}
	x := NewContext(c, Compiler{
		Device: key.Device{API: "test", Name: "slow"},
		Compile: func(_ context.Context, r *key.Recipe) ([]byte, error) {
			source := expand(string(r.Image.Units()[0].Code), "", includeDirs(r.Options.CompileString()))
			if path := os.Getenv("CHILD_BUILDING"); path != "" {
				_ = os.WriteFile(path, nil, 0o600)
				time.Sleep(time.Hour) // until it is killed
			}
			time.Sleep(500 * time.Millisecond)
			return []byte("binary of " + source), nil
		},
		Headers: func(string) (deps.Search, error) { return deps.Search{}, nil },
	}, ContextOptions{})
	kind, options := key.Opaque, ""
	if dir := os.Getenv("CHILD_INCLUDE"); dir != "" {
		kind, options = key.OpenCLC, "-I"+dir
	}
	// Others wait the longer for a large source: these have to, however busy the machine is.
	img, err := NewImage(kind, []byte(os.Getenv(childVariable)+strings.Repeat("\n", 50_000)))
	if err != nil {
		return fail(err)
	}
	goroutines := 1
	fmt.Sscan(os.Getenv("CHILD_GOROUTINES"), &goroutines)
	origins := make([]string, goroutines)
	var all sync.WaitGroup
	for i := range origins {
		all.Go(func() {
			p, err := x.Program(context.Background(), Request{Image: img, CompileOptions: options})
			if err != nil {
				origins[i] = err.Error()
				return
			}
			defer p.Release()
			out, _ := p.Native(0)
			origins[i] = p.Origin().String() + ": " + string(out)
		})
	}
	all.Wait()
	if err := c.Close(); err != nil {
		return fail(err)
	}
	if n := c.Stats()[stats.DiskWaitsGivenUp]; n > 0 {
		return fail(fmt.Errorf("%d waits for a lock were given up", n))
	}
	for _, o := range origins[1:] {
		if o != origins[0] {
			return fail(fmt.Errorf("%q and %q", o, origins[0]))
		}
	}
	fmt.Println(origins[0])
	return 0
}

func startChild(t *testing.T, root, program string, env ...string) (*exec.Cmd, *strings.Builder) {
	t.Helper()
	var out strings.Builder
	cmd := exec.Command(os.Args[0])
	// Else each sleeps a second at its end under the race detector.
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", childVariable+"="+program, "CHILD_ROOT="+root, "CHILD_CONFIG="+emptyConfig(t))
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, &out
}

// Processes that start together on one cold key: one compile. The reference
// systems compile in each of them.
func TestProcessesTogetherOneCompile(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 16} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			root := newRoot(t)
			cmds := make([]*exec.Cmd, n)
			outs := make([]*strings.Builder, n)
			for i := range cmds {
				cmds[i], outs[i] = startChild(t, root, "program", "CHILD_GOROUTINES=20")
			}
			compiled := 0
			for i, cmd := range cmds {
				if err := cmd.Wait(); err != nil {
					t.Errorf("process %d: %v\n%s", i, err, outs[i])
				}
				if !strings.Contains(outs[i].String(), "binary of program") {
					t.Errorf("process %d: %s", i, outs[i])
				}
				if strings.HasPrefix(outs[i].String(), "compiled") {
					compiled++
				}
			}
			if compiled != 1 {
				t.Errorf("%d processes compiled, want 1", compiled)
			}
		})
	}
}

// Processes that start together on changed headers: one compile, and none gets
// what was built before.
func TestProcessesTogetherOnHeaders(t *testing.T) {
	t.Parallel()
	root, dir := newRoot(t), newTree(t, map[string]string{"a.h": ""})
	for _, step := range []struct {
		content string
		want    int // processes that compile
	}{{"one", 1}, {"two", 1}, {"one", 0}} {
		putFile(t, dir+"/a.h", step.content)
		cmds := make([]*exec.Cmd, 8)
		outs := make([]*strings.Builder, len(cmds))
		for i := range cmds {
			cmds[i], outs[i] = startChild(t, root, "#include \"a.h\"\n", "CHILD_GOROUTINES=20", "CHILD_INCLUDE="+dir)
		}
		for i, cmd := range cmds {
			if err := cmd.Wait(); err != nil || !strings.Contains(outs[i].String(), step.content+"]") {
				t.Errorf("%s, process %d: %v\n%s", step.content, i, err, outs[i])
			}
		}
		compiled := 0
		for _, out := range outs {
			compiled += strings.Count(out.String(), "compiled: ")
		}
		if compiled != step.want {
			t.Errorf("%s: %d processes compiled, want %d", step.content, compiled, step.want)
		}
	}
	if n := len(entries(t, root)); n != 2 {
		t.Errorf("%d entries, want 2", n)
	}
}

// A builder that is killed leaves nothing locked.
func TestKilledBuilderLocksNothing(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	building := filepath.Join(t.TempDir(), "building")
	killed, _ := startChild(t, root, "program", "CHILD_BUILDING="+building)
	waitFor(t, "a build", func() bool { _, err := os.Stat(building); return err == nil })
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait()
	cmd, out := startChild(t, root, "program")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.HasPrefix(out.String(), "compiled") {
		t.Errorf("the next one: %s", out)
	}
}
