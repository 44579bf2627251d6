//go:build linux

package kernstash

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/storetest"
)

// tortureVariable makes the test binary a process of the torture; it is the
// root. The others say more.
const (
	tortureVariable = "KERNSTASH_TEST_TORTURE"
	tortureSeed     = "TORTURE_SEED"
	tortureConfig   = "TORTURE_CONFIG"
	tortureTask     = "TORTURE_TASK" // "all": each program once, then the end
)

func init() {
	if root := os.Getenv(tortureVariable); root != "" {
		if err := tortured(root); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

const (
	torturePrograms = 1500
	tortureLimit    = 4 << 20
)

func tortureSource(i int) string { return fmt.Sprintf("torture %d %s", i, strings.Repeat("x", i%700)) }

// tortureCode is what the compiler makes of a source.
func tortureCode(source string) string { return "code of " + source + strings.Repeat("\x00\x7f", 200) }

// tortured is one process: it asks for programs, compares every byte that it
// gets, and puts, removes and collects in between, until it is killed. It
// writes a line for each build.
func tortured(root string) error {
	seed, err := strconv.ParseUint(os.Getenv(tortureSeed), 10, 64)
	if err != nil {
		return err
	}
	rnd := rand.New(rand.NewPCG(seed, 0))
	c, err := Open(Options{
		Dir: root, ConfigFile: os.Getenv(tortureConfig), MaxSize: tortureLimit, NoMemory: true,
		Eviction: []Eviction{EvictLRU, EvictCost}[rnd.IntN(2)],
	})
	if err != nil {
		return err
	}
	compiler := Compiler{
		Device: key.Device{API: "test", Name: "tortured"},
		Compile: func(_ context.Context, r *key.Recipe) ([]byte, error) {
			time.Sleep(time.Duration(rnd.IntN(500)) * time.Microsecond)
			return []byte(tortureCode(string(r.Image.Units()[0].Code))), nil
		},
	}
	x := NewContext(c, compiler, ContextOptions{})
	build := func(i int) error {
		img, err := NewImage(key.Opaque, []byte(tortureSource(i)))
		if err != nil {
			return err
		}
		p, err := x.Program(context.Background(), Request{Image: img})
		if err != nil {
			return err
		}
		defer p.Release()
		if code, err := p.Native(0); err != nil || string(code) != tortureCode(tortureSource(i)) {
			return fmt.Errorf("WRONG BINARY of program %d, %v: %q, %v", i, p.Origin(), code, err)
		}
		fmt.Println(p.Origin())
		return nil
	}
	if os.Getenv(tortureTask) == "all" {
		for i := range torturePrograms {
			if err := build(i); err != nil {
				return err
			}
		}
		if n := c.Stats()[stats.DiskWaitsGivenUp]; n > 0 {
			return fmt.Errorf("%d programs are locked", n)
		}
		return c.Close()
	}
	fmt.Println("started")
	for {
		i := rnd.IntN(torturePrograms)
		if rnd.IntN(3) == 0 {
			i = rnd.IntN(40) // some are asked for by all
		}
		if err := build(i); err != nil {
			return err
		}
		if err := tortureMore(c, rnd, rnd.IntN(torturePrograms)); err != nil {
			return err
		}
		if rnd.IntN(300) == 0 {
			return c.Close() // its killer starts another
		}
	}
}

// tortureMore does something else to the store now and then.
func tortureMore(c *Cache, rnd *rand.Rand, i int) error {
	bg := context.Background()
	e := storetest.New(noTest{}, fmt.Sprint("direct", i), 100+i)
	switch rnd.IntN(300) {
	default:
		return nil
	case 0:
		_, _ = onDisk(c).GC(bg, disk.GCOptions{MaxSize: tortureLimit / 4}, nil)
	case 1:
		_, _ = onDisk(c).Verify(bg, true, nil)
	case 2, 3, 4, 5, 6, 7, 8:
		_, _ = onDisk(c).Put(bg, e)
	case 9, 10:
		_ = onDisk(c).Delete(bg, e.Key)
	case 11, 12, 13, 14:
		got, err := onDisk(c).Get(bg, e.Key)
		if err == nil && string(got.Artifact.Binaries[0].Data) != string(e.Artifact.Binaries[0].Data) {
			return errors.New("WRONG BINARY of a direct put")
		}
	case 15:
		if rnd.IntN(5) == 0 {
			_, _ = onDisk(c).Clear(bg, func(i store.Info) bool { return i.Cost < time.Millisecond }, nil)
		}
	}
	return nil
}

// noTest makes entries in a process that does not test.
type noTest struct{ testing.TB }

func (noTest) Helper()           {}
func (noTest) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// torturer runs processes and kills them.
type torturer struct {
	t      *testing.T
	root   string
	config string
	want   int64
	builds atomic.Int64 // compiled so far
	hits   atomic.Int64
	kills  atomic.Int64
	seed   atomic.Uint64
}

func (k *torturer) start(env ...string) (*exec.Cmd, io.ReadCloser, error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", tortureVariable+"="+k.root, tortureConfig+"="+k.config,
		tortureSeed+"="+strconv.FormatUint(k.seed.Add(1), 10))
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		cmd.Stderr = os.Stderr
		err = cmd.Start()
	}
	return cmd, out, err
}

// read counts what a process says, until it ends or is killed, and returns what
// it said that is no count. started is called when it begins, each for each
// program.
func (k *torturer) read(out io.Reader, started, each func()) (wrong string) {
	said, rest := make([]byte, 1<<12), ""
	for {
		n, err := out.Read(said)
		lines := strings.Split(rest+string(said[:n]), "\n")
		rest = lines[len(lines)-1]
		for _, line := range lines[:len(lines)-1] {
			switch line {
			case Compiled.String():
				k.builds.Add(1)
			case Disk.String():
				k.hits.Add(1)
			case "started":
				started()
				continue
			default:
				wrong += line + "\n"
			}
			each()
		}
		if err != nil {
			return wrong
		}
	}
}

// watch ends the test where nothing happens any more, until ended is closed.
func (k *torturer) watch(ended <-chan struct{}) {
	for last, begin := int64(-1), time.Now(); ; {
		select {
		case <-ended:
			return
		case <-time.After(time.Second):
		}
		if n := k.builds.Load() + k.hits.Load() + k.kills.Load(); n != last {
			last, begin = n, time.Now()
		} else if time.Since(begin) > 4*time.Minute {
			panic("the torture does not go on: something is locked")
		}
	}
}

// mild reports whether too few processes were killed, or nothing was found: a machine may build all
// that is wanted before the first is killed.
func (k *torturer) mild() bool { return k.kills.Load() < 8 || k.hits.Load() == 0 }

// loop starts a process again and again, and kills it at a random moment.
func (k *torturer) loop() {
	// About every second process comes to an end of a program, however slow the machine is.
	life := 150 * time.Millisecond
	for (k.builds.Load() < k.want || k.mild()) && !k.t.Failed() {
		programs := 0
		cmd, out, err := k.start()
		if err != nil {
			k.t.Error(err)
			return
		}
		kill := func() {
			time.AfterFunc(rand.N(life)+1, func() { _ = cmd.Process.Kill() }) // or it ended by itself
		}
		if wrong := k.read(out, kill, func() { programs++ }); wrong != "" {
			k.t.Errorf("a process said: %s", wrong)
		}
		if err := cmd.Wait(); err != nil {
			k.kills.Add(1)
		}
		if programs == 0 {
			life = life * 16 / 10
		} else {
			life = max(life*9/10, 150*time.Millisecond)
		}
	}
}

// TestTortureByKill: processes that build, put, get, evict and collect are
// killed at any moment. No entry is wrong, nothing stays locked, the account is
// right after the next gc, and nothing is left behind.
func TestTortureByKill(t *testing.T) {
	t.Parallel()
	k := &torturer{t: t, root: newRoot(t), config: emptyConfig(t), want: 400}
	if os.Getenv("KERNSTASH_TEST_LONG") != "" {
		k.want = 10_000
	}
	start := time.Now()
	var all sync.WaitGroup
	for range 8 {
		all.Go(k.loop)
	}
	ended := make(chan struct{})
	go k.watch(ended)
	all.Wait()
	close(ended)
	t.Logf("%d builds, %d hits, %d processes killed in %v", k.builds.Load(), k.hits.Load(), k.kills.Load(), time.Since(start).Round(time.Millisecond))
	if k.mild() {
		t.Error("a mild torture")
	}
	k.nothingWrong()
	k.nothingLocked()
	k.accountRight()
}

func (k *torturer) nothingWrong() {
	k.t.Helper()
	s := disk.New(disk.Options{Dir: k.root})
	defer s.Close()
	r, err := s.Verify(context.Background(), false, nil)
	if err != nil || r.Damaged+r.LostRecipes > 0 || r.Entries == 0 {
		k.t.Errorf("verify: %+v, %v", r, err)
	}
}

// nothingLocked: another process gets every program, and waits for no lock in vain.
func (k *torturer) nothingLocked() {
	k.t.Helper()
	cmd, out, err := k.start(tortureTask + "=all")
	if err != nil {
		k.t.Fatal(err)
	}
	n := 0
	wrong := k.read(out, func() {}, func() { n++ })
	if err := cmd.Wait(); err != nil || wrong != "" || n != torturePrograms {
		k.t.Errorf("afterwards: %d programs, %v\n%s", n, err, wrong)
	}
}

func (k *torturer) accountRight() {
	k.t.Helper()
	later := func() time.Time { return time.Now().Add(2 * time.Hour) } // what was left behind is old
	s := disk.New(disk.Options{Dir: k.root, MaxSize: tortureLimit, Now: later})
	defer s.Close()
	if _, err := s.GC(context.Background(), disk.GCOptions{}, nil); err != nil {
		k.t.Errorf("gc: %v", err)
	}
	st, tree := s.Status(), storetest.Look(k.t, k.root)
	if !st.Counted || st.Entries != tree.Entries || st.Bytes != tree.Bytes || st.Bytes > tortureLimit {
		k.t.Errorf("after gc: %+v; there are %d entries, %d bytes", st, tree.Entries, tree.Bytes)
	}
	if len(tree.Strange) > 0 {
		k.t.Errorf("left behind: %q", tree.Strange)
	}
}
