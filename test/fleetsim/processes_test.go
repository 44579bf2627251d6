package fleetsim

import (
	"bufio"
	"cmp"
	"crypto/ed25519"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kernstash/kernstash/internal/needs/versitygw"
	"github.com/kernstash/kernstash/internal/servers"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/redis"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/remote/lease"
	"github.com/kernstash/kernstash/store/s3"
	"github.com/kernstash/kernstash/store/storetest"
	"github.com/kernstash/kernstash/store/tiered"
)

var (
	processes = flag.Int("processes", 16, "real processes that want one program at once")
	runs      = flag.Int("runs", 1, "runs with Redis; with S3 alone a third of it")
)

// What a process of the test is: one that is a machine of its own.
const (
	envRemote = "KERNSTASH_TEST_FLEET_REMOTE"
	envRoot   = "KERNSTASH_TEST_FLEET_ROOT"
	envHangs  = "KERNSTASH_TEST_FLEET_HANGS"
)

// buildCost is what the program takes to build that all processes want.
const buildCost = 2 * time.Second

func TestMain(m *testing.M) {
	if address := os.Getenv(envRemote); address != "" {
		if err := machine(address, os.Getenv(envRoot), os.Getenv(envHangs) != ""); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// objects is what the engines offer that the processes use.
type objects interface {
	remote.Objects
	remote.Leaser
}

func openRemote(address string) (objects, error) {
	if strings.HasPrefix(address, "s3:") {
		return s3.Open(address, s3.Options{})
	}
	return redis.Open(address, redis.Options{})
}

// wanted returns the entry that all want.
func wanted() (*store.Entry, error) {
	img, err := key.NewImage(key.OpenCLC, []byte("kernel void k() {} // of all processes"))
	if err != nil {
		return nil, err
	}
	e := storetest.Entry(&key.Recipe{Device: storetest.Device(), Image: img}, "all", entrySize)
	e.Artifact.Cost = buildCost
	return e, nil
}

// machine is one process: it says that it is ready, is told to begin, says that it builds if it does,
// and in the end how many milliseconds it waited.
func machine(address, root string, hangs bool) error {
	o, err := openRemote(address)
	if err != nil {
		return err
	}
	defer o.Close()
	entries := remote.New(o, remote.Options{})
	leases := lease.New(o, lease.Options{Name: entries.LeaseName})
	defer leases.Close()
	near := disk.New(disk.Options{Dir: root})
	defer near.Close()
	s := tiered.New(near, tiered.Options{Far: []tiered.Far{{Name: "remote", Store: entries, Locker: leases}}})
	defer s.Close()
	e, err := wanted()
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	begun := time.Now()
	var wrong int64
	request(s, e, func() bool {
		fmt.Println("builds")
		if hangs {
			return false
		}
		time.Sleep(buildCost)
		return true
	}, &wrong)
	fmt.Println("done", time.Since(begun).Milliseconds(), wrong)
	return nil
}

func startMachine(t *testing.T, address, root string, more ...string) *servers.Child {
	t.Helper()
	return servers.StartChild(t, append([]string{envRemote + "=" + address, envRoot + "=" + root}, more...)...)
}

// startMachines starts machines, whose roots are in memory if that can be: each has a disk of its own, and one
// disk of all would be what is measured.
func startMachines(t *testing.T, address string, n int) (all []*servers.Child) {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "kernstash-fleet-")
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for i := range n {
		all = append(all, startMachine(t, address, filepath.Join(dir, strconv.Itoa(i))))
	}
	for _, p := range all {
		p.Says(t, "ready")
	}
	return all
}

// end has processes begin, and returns how many built, and how long each waited, sorted.
func end(t *testing.T, all []*servers.Child) (builds int, waited []time.Duration) {
	t.Helper()
	for _, p := range all {
		p.Begin()
	}
	for _, p := range all {
		done := false
		for line := range p.Lines {
			var ms, wrong int64
			if line == "builds" {
				builds++
			} else if _, err := fmt.Sscanf(line, "done %d %d", &ms, &wrong); err != nil || wrong != 0 {
				t.Errorf("a machine says %q", line)
			} else {
				done = true
				waited = append(waited, time.Duration(ms)*time.Millisecond)
			}
		}
		if !done {
			t.Error("a machine was not served")
		}
	}
	slices.Sort(waited)
	return builds, waited
}

// s3Address returns that of a bucket of a real server. The processes find its keys in their environment.
func s3Address(t *testing.T) string {
	g := versitygw.Start(t)
	t.Setenv("AWS_ACCESS_KEY_ID", g.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", g.SecretKey)
	return g.URL(g.Bucket(t, "") + "/fleet")
}

func print(t *testing.T, what string, builds int, waited []time.Duration) {
	t.Logf("%-28s %3d processes: %d built; ready p50 %.1f s, p99 %.1f s, last %.1f s", what, len(waited), builds,
		waited[len(waited)/2].Seconds(), waited[len(waited)*99/100].Seconds(), waited[len(waited)-1].Seconds())
}

// TestProcesses: many real processes want one cold program at once: one compiles with Redis, one or
// two with S3 alone.
func TestProcesses(t *testing.T) {
	t.Run("redis", func(t *testing.T) {
		for range *runs {
			builds, waited := end(t, startMachines(t, servers.Redis(t), *processes))
			print(t, "Redis", builds, waited)
			if builds != 1 {
				t.Errorf("%d processes build, want 1", builds)
			}
		}
	})
	t.Run("s3", func(t *testing.T) {
		for range max(*runs/3, 1) {
			builds, waited := end(t, startMachines(t, s3Address(t), *processes))
			print(t, "S3 alone", builds, waited)
			if builds < 1 || builds > 2 {
				t.Errorf("%d processes build, want 1 or 2", builds)
			}
		}
	})
}

// TestHolder: the one who builds is killed, or hangs.
func TestHolder(t *testing.T) {
	for name, most := range map[string]int{"killed": 1, "hangs": 3} {
		t.Run(name, func(t *testing.T) {
			address := servers.Redis(t)
			first := startMachine(t, address, filepath.Join(t.TempDir(), "first"), envHangs+"=1")
			first.Says(t, "ready")
			first.Begin()
			first.Says(t, "builds")
			all := startMachines(t, address, *processes)
			if name == "killed" {
				if err := first.Cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			builds, waited := end(t, all)
			print(t, "Redis, the holder "+name, builds, waited)
			if builds < 1 || builds > most {
				t.Errorf("%d other processes build, want 1 to %d", builds, most)
			}
			// A lease of 15 s, the build, jitter, and what hundreds of processes take on two processors.
			if last := waited[len(waited)-1]; last > 15*time.Second+buildCost+5*time.Second {
				t.Errorf("the last is served after %v", last)
			}
		})
	}
}

// TestCalibration prints what the simulation says of what TestProcesses runs.
func TestCalibration(t *testing.T) {
	_, sign, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []*engine{redis1(), s31()} {
		synctest.Test(t, func(t *testing.T) {
			sc := &scenario{name: e.name, engines: []*engine{e}, nodes: cmp.Or(*processes, 1), keys: 1, cost: buildCost}
			o := sc.run(t, sign, remote.Options{})
			print(t, "simulated: "+e.name, int(o.builds), o.ready)
		})
	}
}

// redis1 and s31 are the engines on loopback, two processors shared with the processes.
func redis1() *engine {
	return &engine{name: "Redis", trip: 50 * time.Microsecond, perCall: 20 * time.Microsecond, perSize: 40 * time.Microsecond}
}

func s31() *engine {
	return &engine{name: "S3 alone", trip: 300 * time.Microsecond, perCall: 300 * time.Microsecond, perSize: 100 * time.Microsecond}
}
