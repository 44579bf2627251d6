//go:build !nogpu && linux

package opencl_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/storetest"
)

func init() { children["tortured"] = torturedChild }

const (
	torturePrograms = 10
	tortureLimit    = 400_000 // not all of them
	allVariable     = "KERNSTASH_TEST_ALL"
)

const tortureSource = `
kernel void check(global int *out) {
	size_t i = get_global_id(0);
	out[i] = PROGRAM * 1000 + (int)get_local_size(0) * 100000 + (int)i;
}`

// torturedChild asks for programs at random, launches them and checks what they
// compute, until it is killed; or for all, once. It writes a line for each.
func torturedChild() error {
	d, err := firstDevice("POCL")
	if err != nil {
		return err
	}
	cache, c, q, done, err := openCached(os.Getenv(rootVariable), d)
	if err != nil {
		return err
	}
	b, err := c.NewBuffer(opencl.ReadWrite, 64*4)
	if err != nil {
		return err
	}
	image, err := kernstash.NewImage(key.OpenCLC, []byte(tortureSource))
	if err != nil {
		return err
	}
	check := func(program, local int) error {
		p, err := c.Program(context.Background(), kernstash.Request{Image: image, CompileOptions: fmt.Sprint("-DPROGRAM=", program)})
		if err != nil {
			return err
		}
		defer p.Release()
		k, err := p.Kernel(context.Background(), "check")
		if err != nil {
			return err
		}
		defer k.Release()
		if err := k.Launch(q, []int{64}, []int{local}, b); err != nil {
			return err
		}
		out := make([]byte, 64*4)
		if err := q.Read(b, 0, out); err != nil {
			return err
		}
		for i := range 64 {
			got, want := int(int32(binary.LittleEndian.Uint32(out[4*i:]))), program*1000+local*100000+i
			if got != want {
				return fmt.Errorf("WRONG: program %d, %v, computes %d at %d, not %d", program, p.Origin(), got, i, want)
			}
		}
		fmt.Println(p.Origin())
		return nil
	}
	if os.Getenv(allVariable) != "" {
		for i := range torturePrograms {
			if err := check(i, 8); err != nil {
				return err
			}
		}
		if n := cache.Stats()[stats.DiskWaitsGivenUp]; n > 0 {
			return fmt.Errorf("%d programs are locked", n)
		}
		return errors.Join(b.Release(), done())
	}
	fmt.Println("started")
	for {
		if err := check(rand.IntN(torturePrograms), 1<<rand.IntN(5)); err != nil {
			return err
		}
		time.Sleep(rand.N(80 * time.Millisecond)) // at times long enough for a capture
	}
}

// torturer starts processes on PoCL and kills them.
type torturer struct {
	t                   *testing.T
	root                string
	want                int64
	builds, hits, kills atomic.Int64
}

// run starts a process, which is killed a time after it began, if kill is not
// 0, and returns what it said that is no count.
func (k *torturer) run(kill time.Duration, each func(), env ...string) (wrong string) {
	self, err := os.Executable()
	if err != nil {
		return err.Error()
	}
	// PoCL's own cache is another one for each: it has no part in this.
	own, err := os.MkdirTemp("", "kernstash-pocl-")
	if err != nil {
		return err.Error()
	}
	defer os.RemoveAll(own)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", childVariable+"=tortured", rootVariable+"="+k.root, "POCL_CACHE_DIR="+own,
		"KERNSTASH_DIR=", "KERNSTASH_MAX_SIZE="+strconv.Itoa(tortureLimit))
	cmd.Env = append(cmd.Env, env...)
	cmd.Dir = own
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err.Error()
	}
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return err.Error()
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		switch strings.TrimSpace(line) {
		case kernstash.Compiled.String():
			k.builds.Add(1)
		case kernstash.Disk.String():
			k.hits.Add(1)
		case "started":
			defer time.AfterFunc(kill, func() { _ = cmd.Process.Kill() }).Stop()
			continue
		default:
			wrong += line
		}
		each()
	}
	if err := cmd.Wait(); err != nil && (kill == 0 || cmd.ProcessState.ExitCode() >= 0) {
		return wrong + err.Error() + "\n" + said.String()
	}
	k.kills.Add(1)
	return wrong
}

// TestTortureByKillOnPoCL: processes that build, launch, capture and load real
// kernels are killed at any moment. Whatever is loaded computes what its source
// says, nothing stays locked, and the account is right after the next gc.
func TestTortureByKillOnPoCL(t *testing.T) {
	timing.Long(t)
	t.Parallel()
	device(t)
	k := &torturer{t: t, root: t.TempDir() + "/root", want: 4}
	processes := 2
	if os.Getenv("KERNSTASH_TEST_LONG") != "" {
		k.want, processes = 100, 4
	}
	var all sync.WaitGroup
	for range processes {
		all.Go(func() {
			// About every second process comes to an end of a program, however
			// slow the machine is.
			life := time.Second
			for k.builds.Load() < k.want && !t.Failed() {
				programs := 0
				if wrong := k.run(rand.N(life)+1, func() { programs++ }); wrong != "" {
					t.Errorf("a process said: %s", wrong)
				}
				if life = life * 9 / 10; programs == 0 {
					life = life * 16 / 10
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d builds, %d hits, %d processes killed", k.builds.Load(), k.hits.Load(), k.kills.Load())

	s := disk.New(disk.Options{Dir: k.root})
	r, err := s.Verify(context.Background(), false, nil)
	if err != nil || r.Damaged+r.LostRecipes > 0 {
		t.Errorf("verify: %+v, %v", r, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if wrong := k.run(0, func() {}, allVariable+"=1"); wrong != "" {
		t.Errorf("afterwards: %s", wrong)
	}
	later := func() time.Time { return time.Now().Add(2 * time.Hour) }
	s = disk.New(disk.Options{Dir: k.root, MaxSize: tortureLimit, Now: later})
	defer s.Close()
	if _, err := s.GC(context.Background(), disk.GCOptions{}, nil); err != nil {
		t.Error(err)
	}
	st, tree := s.Status(), storetest.Look(t, k.root)
	if !st.Counted || st.Entries != tree.Entries || st.Bytes != tree.Bytes || len(tree.Strange) > 0 {
		t.Errorf("after gc: %+v; there are %+v", st, tree)
	}
	if st.Entries == 0 {
		t.Error("nothing was stored: a mild torture")
	}
}
