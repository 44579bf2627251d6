package catalog

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/timing"
)

// killedDir names the cache of which a process of TestKilled makes the catalog.
const killedDir = "KERNSTASH_TEST_CATALOG"

// TestKilled: whenever a process is killed (kill -9) that makes the catalog, the next one lists every entry in order, and what is
// stored meanwhile.
func TestKilled(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv(killedDir); dir != "" {
		makeCatalog(t, dir)
		return
	}
	const n = 400
	r := newRoot(t)
	for i := 1; i <= n; i++ {
		r.put(i, time.Duration(i)*time.Minute, i%3 == 0)
	}
	want := func(last int) (all []int) {
		for i := last; i > 0; i-- {
			all = append(all, i)
		}
		return all
	}
	begun := time.Now()
	if killed := makeAndKill(t, r, time.Minute); killed {
		t.Fatal("the process did not end by itself")
	}
	whole := time.Since(begun)
	random := rand.New(rand.NewPCG(timing.Seed(t), 1))
	killed, last := 0, n
	for i := range 12 {
		if i%3 < 2 { // else it goes on with what the one before has left
			if err := os.RemoveAll(r.c.Disk.Catalog()); err != nil {
				t.Fatal(err)
			}
		}
		if makeAndKill(t, r, time.Duration(random.Int64N(int64(whole)))) {
			killed++
		}
		if i%4 == 3 {
			last++
			r.put(last, time.Minute, false)
		}
		if i%3 == 0 {
			continue // the next one finds what two have left
		}
		if diff := cmp.Diff(want(last), r.list(Size)); diff != "" {
			t.Fatalf("after %d were killed (-want +got):\n%s", killed, diff)
		}
		if left, _ := filepath.Glob(filepath.Join(r.c.Disk.Catalog(), "*.tmp")); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	}
	t.Logf("%d of 12 were killed", killed)
	if killed == 0 {
		t.Error("none was killed")
	}
}

// makeCatalog makes the catalog of a cache.
func makeCatalog(t *testing.T, dir string) {
	r := openRoot(t, dir)
	fmt.Println("begins")
	k, err := open(context.Background(), r.c, true, 1)
	if err != nil || k == nil {
		t.Fatal(k, err)
	}
	k.Close()
}

// makeAndKill has a process make the catalog, and kills it so long after it has begun, unless it has ended.
func makeAndKill(t *testing.T, r root, after time.Duration) (killed bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$", "-test.v")
	cmd.Env = append(os.Environ(), killedDir+"="+r.c.Disk.Dir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended, begun := make(chan error, 1), make(chan struct{})
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if lines.Text() == "begins" {
				close(begun)
			}
		}
		ended <- cmd.Wait()
	}()
	select {
	case <-begun:
	case err := <-ended:
		t.Fatal("it did not begin: ", err)
	}
	select {
	case <-time.After(after):
		_ = cmd.Process.Kill()
		return <-ended != nil
	case err := <-ended:
		if err != nil {
			t.Fatal(err)
		}
		return false
	}
}
