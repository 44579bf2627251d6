package deps

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/needs"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/key"
)

// compared adds up what a comparison with clang found.
type compared struct {
	sync.Mutex
	units, refused, reasons, tracked, files, more int
	took, longest                                 time.Duration
}

func (c *compared) report(t *testing.T) {
	t.Helper()
	n := float64(max(c.tracked, 1))
	t.Logf("%d units: clang refuses %d in the end; %d are not cacheable; the others read %.1f files each by clang, and %.1f more are tracked; %v each, %v at most",
		c.units, c.refused, c.reasons, float64(c.files)/n, float64(c.more)/n,
		c.took/time.Duration(max(c.units, 1)), c.longest)
}

// compare tracks a unit and looks for each file that clang reads for it. It says
// whether it found them all, or a reason.
func (c *compared) compare(t *testing.T, u key.Unit, source string, words []string, s Search, args ...string) bool {
	t.Helper()
	start := time.Now()
	got, r := Track(u, words, s)
	took := time.Since(start)
	want, ok := clangFiles(t, s.Dir, source, append(args, words...)...)
	c.Lock()
	defer c.Unlock()
	c.units++
	c.took += took
	c.longest = max(c.longest, took)
	if !ok {
		c.refused++
	}
	if !r.None() {
		c.reasons++
		if c.reasons < 10 {
			t.Logf("%s: %v", source, r)
		}
		return true
	}
	c.tracked++
	has := tracked(t, got.Unit)
	all := true
	for _, f := range want {
		if !has[f] {
			all = false
			t.Errorf("%s: clang reads %s, which is not tracked", source, f)
		}
	}
	c.files += len(want)
	c.more += len(has) - len(want)
	return all
}

// sources returns the files below dir with the suffix.
func sources(t *testing.T, dir, suffix string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, suffix) {
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// long says how much is compared. The race detector slows a scan down by ten
// and finds nothing in it, so with it little is.
func long() string {
	if raceEnabled {
		return ""
	}
	return os.Getenv("KERNSTASH_TEST_LONG")
}

// each calls f for one in so many of the list, a few at a time; for more in the
// long tests, and for all with KERNSTASH_TEST_LONG=all.
func each(list []string, oneIn int, f func(string)) {
	switch long() {
	case "":
	case "all":
		oneIn = 1
	default:
		oneIn = max(oneIn/8, 1)
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.NumCPU())
	for i := 0; i < len(list); i += oneIn {
		slots <- struct{}{}
		wg.Go(func() {
			f(list[i])
			<-slots
		})
	}
	wg.Wait()
}

// hashcat's kernels include by macros that an option completes.
func TestTrackHashcat(t *testing.T) {
	timing.Long(t)
	t.Parallel()
	const dir = "/usr/share/hashcat/OpenCL"
	clang(t)
	if _, err := os.Stat(dir); err != nil {
		needs.Missing(t, "there is no "+dir, "hashcat-data")
	}
	words := []string{"-D", "INCLUDE_PATH=" + dir, "-D", "XM2S(x)=#x", "-D", "M2S(x)=XM2S(x)", "-DVENDOR_ID=64", "-D", "LOCAL_MEM_TYPE=1", "-D", "VECT_SIZE=4", "-D", "DEVICE_TYPE=2", "-D", "DGST_R0=0", "-D", "DGST_R1=1", "-D", "DGST_R2=2", "-D", "DGST_R3=3", "-D", "DGST_ELEM=4", "-D", "KERNEL_STATIC", "-D", "KERN_TYPE=1", "-D", "ATTACK_MODE=3", "-D", "HAS_VPERM=0", "-w"}
	system := clangSystem(t, "-x", "cl")
	var c compared
	each(sources(t, dir, ".cl"), 8, func(path string) {
		u := key.Unit{Kind: key.OpenCLC, Code: readFile(t, path)}
		c.compare(t, u, path, words, Search{Dir: t.TempDir(), Main: dir, System: system}, "-x", "cl", "-cl-no-stdinc")
	})
	c.report(t)
	if c.reasons > 0 || c.refused > 0 {
		t.Errorf("%d units are not cacheable, %d were refused", c.reasons, c.refused)
	}
}

// Each of Thrust's headers as a unit, for a host.
func TestTrackThrust(t *testing.T) {
	timing.Long(t)
	t.Parallel()
	const dir = "/usr/include/thrust"
	clang(t)
	if _, err := os.Stat(dir); err != nil {
		needs.Missing(t, "there is no "+dir, "libthrust-dev")
	}
	flags := []string{"-x", "c++", "-std=c++17"}
	system := clangSystem(t, flags...)
	words := []string{"-DTHRUST_HOST_SYSTEM=THRUST_HOST_SYSTEM_CPP", "-DTHRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP"}
	var c compared
	each(sources(t, dir, ".h"), 32, func(path string) {
		wd := t.TempDir()
		code := fmt.Sprintf("#include <%s>\n", strings.TrimPrefix(path, "/usr/include/"))
		source := filepath.Join(wd, "unit.cpp")
		if err := os.WriteFile(source, []byte(code), 0o600); err != nil {
			t.Error(err)
			return
		}
		c.compare(t, key.Unit{Kind: key.CUDACpp, Code: []byte(code)}, source, words, Search{Dir: wd, Main: wd, System: system}, flags...)
	})
	c.report(t)
}
