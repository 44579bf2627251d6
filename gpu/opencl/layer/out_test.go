//go:build !nogpu && linux

package layer_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/gpu/opencl/layer"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"golang.org/x/sys/unix"
)

func init() {
	children["limited"] = limitedChild
	children["changed"] = changedChild
}

// limitedChild opens the layer with little address space left.
func limitedChild() error {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	var pages uint64
	if _, err := fmt.Sscan(string(b), &pages); err != nil {
		return err
	}
	limit := pages*uint64(os.Getpagesize()) + 512<<20
	if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	_, err = layer.Open(at(os.Getenv(rootVariable)))
	fmt.Print(resultMark, errors.Is(err, inprocess.ErrOut), " ", err)
	return nil
}

// Where Go may not get the memory that it wants the layer stays out.
func TestLittleAddressSpace(t *testing.T) {
	t.Parallel()
	out := child(t, "limited", rootVariable+"="+filepath.Join(t.TempDir(), "root"))
	if !strings.HasPrefix(out, "true ") || !strings.Contains(out, "address space") {
		t.Error(out)
	}
}

// A cache that is off stays out of the process, and the report of a run says why.
func TestOff(t *testing.T) {
	report := filepath.Join(t.TempDir(), "report")
	t.Setenv(runlog.Variable, report)
	for _, off := range []string{"KERNSTASH_DISABLE=1", "KERNSTASH_PERSISTENT=0"} {
		if err := os.WriteFile(report, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		name, value, _ := strings.Cut(off, "=")
		t.Setenv(name, value)
		l, err := layer.Open(at(filepath.Join(t.TempDir(), "root")))
		if l != nil || !errors.Is(err, inprocess.ErrOut) {
			t.Errorf("%s: %v, %v", off, l, err)
		}
		os.Unsetenv(name)
		f, err := os.Open(report)
		if err != nil {
			t.Fatal(err)
		}
		s, err := runlog.Read(f)
		f.Close()
		if err != nil || len(s.Out) != 1 {
			t.Errorf("%s: the report: %+v, %v", off, s, err)
		}
	}
}

// changedChild builds a program, changes a variable that the compiler obeys, and
// builds it twice again.
func changedChild() error {
	d, err := firstDevice("INTEL")
	if err != nil {
		return err
	}
	l, err := layer.Open(at(os.Getenv(rootVariable)))
	if err != nil {
		return err
	}
	h, err := makeHost(l, d)
	if err != nil {
		return err
	}
	first := h.build(source(1), &none)
	if err := os.Setenv("IGC_DisableLoopUnroll", "1"); err != nil {
		return err
	}
	l.Settle()
	second := h.build(source(1), &none)
	l.Settle()
	if err := os.Unsetenv("IGC_DisableLoopUnroll"); err != nil {
		return err
	}
	third := h.build(source(1), &none)
	l.Settle()
	s := l.Cache.Stats()
	fmt.Print(resultMark, first, " ", second, " ", third, " ", second.served.Artifacts[0].Kind == opencl.Deferred,
		" ", s[stats.Of(reason.NotCacheableRuntime)])
	return l.Close()
}

// Once variables of the compiler have changed behind a driver that may have read
// them, nobody knows what it obeys: nothing is served, nothing is stored.
func TestVariablesThatChange(t *testing.T) {
	t.Parallel()
	out := child(t, "changed", rootVariable+"="+filepath.Join(t.TempDir(), "root"))
	if want := "built built built true 2"; out != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

// In mode observe nothing is served: what is built is compared, and told.
func TestObserve(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	d := device(t, "INTEL")
	h := newHost(t, openLayer(t, root), d)
	h.build(source(1), &none)
	counted(t, h.l, stats.DiskPuts, 1)
	report := filepath.Join(t.TempDir(), "report")
	if err := os.WriteFile(report, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(runlog.Variable, report)
	t.Setenv("KERNSTASH_MODE", "observe")
	l := openLayer(t, root)
	if p := newHost(t, l, d).build(source(1), &none); p.String() != "built" {
		t.Errorf("%v", p)
	}
	l.Settle()
	if s := l.Cache.Stats(); s[stats.Of(reason.ObserveHits)] != 1 || s[stats.ObserveEqual] != 1 || s[stats.DiskHits] != 0 {
		t.Errorf("would have hit %d, equal %d, hits %d; want 1, 1, 0", s[stats.Of(reason.ObserveHits)], s[stats.ObserveEqual], s[stats.DiskHits])
	}
	f, err := os.Open(report)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if s, err := runlog.Read(f); err != nil || s.WouldHit != 1 || s.Equal != 1 || s.Outcomes.Compiled != 1 {
		t.Errorf("the report: %+v, %v", s, err)
	}
}
