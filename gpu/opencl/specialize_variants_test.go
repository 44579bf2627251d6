//go:build !nogpu

package opencl_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/store"
)

// seen are launches of kernel clear of every sort, and their names. Every global
// size for which the driver chooses the local size may lead to another one. The short form has
// the first four: a local size, an offset, a large grid, and a local size that the driver chooses.
var seen = []struct {
	r    opencl.Range
	name string
}{
	{opencl.Range{Global: []int{128}, Local: []int{64}}, "clear/64-1-1-goffs0-smallgrid"},
	{opencl.Range{Global: []int{128}, Local: []int{32}, Offset: []int{64}}, "clear/32-1-1-smallgrid"},
	{opencl.Range{Global: []int{1 << 17}, Local: []int{16}}, "clear/16-1-1-goffs0"},
	{opencl.Range{Global: []int{1000}}, "clear/auto-1000-1-1-goffs0-smallgrid"},
	{opencl.Range{Global: []int{96, 10}, Local: []int{8, 2}}, "clear/8-2-1-goffs0-smallgrid"},
	{opencl.Range{Global: []int{1031}}, "clear/auto-1031-1-1-goffs0-smallgrid"}, // a prime
	{opencl.Range{Global: []int{640, 48}}, "clear/auto-640-48-1-goffs0-smallgrid"},
	{opencl.Range{Global: []int{100000}, Offset: []int{3}}, "clear/auto-100000-1-1"},
}

func init() {
	if !timing.IsLong() {
		seen = seen[:4]
	}
}

func seenNames() (names []string) {
	for _, s := range seen {
		names = append(names, s.name)
	}
	slices.Sort(names)
	return names
}

func init() {
	children["ahead of launches"] = func() error {
		g, err := newRig(opencl.RuntimeOptions{SpecializeVariants: append(seenNames(), "clear/nonsense", "nonsense")})
		if err != nil {
			return err
		}
		if g.r.Defers(g.job) {
			return errors.New("a launch is awaited, though the launches are given")
		}
		_, a, err := g.r.Build(context.Background(), g.job)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(a)
	}
	children["launches that were seen"] = func() error {
		text, err := os.ReadFile(os.Getenv(artifactVariable))
		if err != nil {
			return err
		}
		var a store.Artifact
		if err := json.Unmarshal(text, &a); err != nil {
			return err
		}
		g, err := newRig(opencl.RuntimeOptions{})
		if err != nil {
			return err
		}
		p, err := g.r.Load(context.Background(), g.job, &a)
		if err != nil {
			return err
		}
		before := compiled()
		k, err := g.r.Kernel(p, "clear")
		if err != nil {
			return err
		}
		big, err := g.c.NewBuffer(opencl.ReadWrite, 1<<20)
		if err != nil {
			return err
		}
		for _, s := range seen {
			if _, err := k.LaunchRange(g.q, s.r, big); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
		if err := g.q.Finish(); err != nil {
			return err
		}
		if after := compiled(); !slices.Equal(before, after) || len(after) == 0 {
			return fmt.Errorf("a launch that was seen was compiled again: %q, then %q", before, after)
		}
		return nil
	}
}

// TestSeenLaunchesAreBuiltAhead: of every sort of launch, by name alone, and
// whoever restores that compiles none of them.
func TestSeenLaunchesAreBuiltAhead(t *testing.T) {
	t.Parallel()
	out := child(t, "ahead of launches", "POCL_CACHE_DIR="+t.TempDir())
	var a store.Artifact
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(seenNames(), a.Variants); diff != "" {
		t.Error(diff)
	}
	if b := a.Binaries; len(b) != 1 || b[0].Form != store.FormDeferred {
		t.Fatalf("%d binaries", len(b))
	}
	file := filepath.Join(t.TempDir(), "artifact.json")
	if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	child(t, "launches that were seen", artifactVariable+"="+file, "POCL_CACHE_DIR="+t.TempDir())
}
