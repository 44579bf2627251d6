package tiered_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/servers"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/redis"
	"github.com/kernstash/kernstash/store/storetest"
	"github.com/kernstash/kernstash/store/tiered"
)

// Variables of a process that is a machine of its own.
const (
	envRemote = "KERNSTASH_TEST_TIERED_REMOTE"
	envRoot   = "KERNSTASH_TEST_TIERED_ROOT"
	envTTL    = "KERNSTASH_TEST_TIERED_TTL" // of leases
	envDies   = "KERNSTASH_TEST_TIERED_DIES"
)

// TestMain is such a process, if it was started as one: 50 goroutines that want one entry.
func TestMain(m *testing.M) {
	if remote := os.Getenv(envRemote); remote != "" {
		if err := machineMain(remote, os.Getenv(envRoot), os.Getenv(envDies) != ""); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// compileTime is long beside what calls take.
const compileTime = 300 * time.Millisecond

func machineMain(remote, root string, dies bool) error {
	o, err := redis.Open(remote, redis.Options{})
	if err != nil {
		return err
	}
	defer o.Close()
	ttl, _ := time.ParseDuration(os.Getenv(envTTL))
	options, leases := withLeases(o, ttl)
	options.Far[0].Timeout = 30 * time.Second // the machine of the test may be busy
	near := disk.New(disk.Options{Dir: root})
	defer near.Close()
	s := tiered.New(near, options)
	defer leases.Close()
	defer s.Close()
	img, err := key.NewImage(key.OpenCLC, []byte("of all processes"))
	if err != nil {
		return err
	}
	e := storetest.Entry(&key.Recipe{Device: storetest.Device(), Image: img}, "all", 50_000)
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	var all sync.WaitGroup
	errs := make(chan error, 50)
	for range cap(errs) {
		all.Go(func() {
			built, err := build(context.Background(), s, e, func() {
				fmt.Println("builds")
				if dies {
					select {} // until it is killed
				}
				time.Sleep(compileTime)
			})
			if err != nil {
				errs <- err
			}
			_ = built
		})
	}
	all.Wait()
	s.Flush(time.Now().Add(time.Minute))
	close(errs)
	for err := range errs {
		return err
	}
	_, err = s.Get(context.Background(), e.Key)
	return err
}

// process is a machine of its own, which waits to be told to begin.
type process struct{ *servers.Child }

func startMachine(t *testing.T, remote, root string, more ...string) *process {
	t.Helper()
	p := &process{servers.StartChild(t, append([]string{envRemote + "=" + remote, envRoot + "=" + root}, more...)...)}
	p.Says(t, "ready")
	return p
}

// builds waits for the end of a machine and returns how often it built.
func (p *process) builds(t *testing.T) (n int) {
	t.Helper()
	for line := range p.Lines {
		if line == "builds" {
			n++
		} else {
			t.Error(line)
		}
	}
	if err := p.Cmd.Wait(); err != nil {
		t.Error(err)
	}
	return n
}

// Eight processes on machines of their own, 50 goroutines each, a real Redis, one cold key.
func TestProcesses(t *testing.T) {
	t.Parallel()
	remote, dir := servers.Redis(t), t.TempDir()
	var all []*process
	for i := range 8 {
		all = append(all, startMachine(t, remote, filepath.Join(dir, fmt.Sprint(i%6)))) // of two machines two
	}
	for _, p := range all {
		p.Begin()
	}
	n := 0
	for _, p := range all {
		n += p.builds(t)
	}
	if n != 1 {
		t.Errorf("%d builds, want 1", n)
	}
}

// The one that builds is killed: at most one other builds.
func TestProcessKilled(t *testing.T) {
	t.Parallel()
	remote, dir := servers.Redis(t), t.TempDir()
	first := startMachine(t, remote, filepath.Join(dir, "first"), envDies+"=1", envTTL+"=5s")
	others := []*process{startMachine(t, remote, filepath.Join(dir, "1")), startMachine(t, remote, filepath.Join(dir, "2")), startMachine(t, remote, filepath.Join(dir, "first"))}
	first.Begin()
	first.Says(t, "builds")
	for _, p := range others {
		p.Begin()
	}
	if err := first.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, p := range others {
		n += p.builds(t)
	}
	if n != 1 {
		t.Errorf("%d builds of others, want 1", n)
	}
	if err := first.Cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the first ended with %v", err)
	}
}
