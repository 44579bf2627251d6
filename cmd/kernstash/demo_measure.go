package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/internal/demo"
)

// demoRoot is the cache of the demonstration, within its directory.
const demoRoot = "stash"

// demoMemory is how often a program is asked for again in a warm process.
const demoMemory = 9

// demoOptions are what the parent of the demonstration needs.
type demoOptions struct {
	runtime  string // "": the first that has a device
	device   string
	apps     [][]string // nil: those that are here
	runs     int
	work     string
	progress *progress
}

// measure runs the processes of the demonstration.
func (o demoOptions) measure(ctx context.Context) (*demoReport, error) {
	if err := os.WriteFile(o.settingsFile(), []byte("{}\n"), 0o600); err != nil {
		return nil, err
	}
	steps := 2 + 2*o.runs
	at := 0
	step := func(what string, c demoChild, driverCache string) (childReport, error) {
		at++
		o.progress.say("%d/%d %s", at, steps, what)
		return o.child(ctx, c, driverCache)
	}
	cold, err := step("cold: compiling every program", demoChild{stash: true, warmUp: true}, "driver-cold")
	if err != nil {
		return nil, err
	}
	o.runtime = cold.Runtime
	const filled = "driver-filled"
	fill, err := step("driver: filling its own cache", demoChild{warmUp: true}, filled)
	if err != nil {
		return nil, err
	}
	var warm, peer []childReport
	for i := range o.runs {
		r, err := step("disk: a fresh process", demoChild{stash: true, memory: demoMemory}, fmt.Sprintf("driver-fresh-%d", i))
		if err != nil {
			return nil, err
		}
		warm = append(warm, r)
		if r, err = step("driver: a fresh process", demoChild{}, filled); err != nil {
			return nil, err
		}
		peer = append(peer, r)
	}
	return newDemoReport(cold, fill, warm, peer), nil
}

func (o demoOptions) settingsFile() string { return filepath.Join(o.work, "settings.json") }

// child runs one process with a driver's cache of a name.
func (o demoOptions) child(ctx context.Context, c demoChild, driverCache string) (childReport, error) {
	var report childReport
	dir := filepath.Join(o.work, driverCache)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return report, err
	}
	answer := filepath.Join(dir, "kernstash-demo.json")
	err := selfCall{report: answer, env: childEnviron(os.Environ(), dir), args: []string{
		"demo-child", "--runtime=" + o.runtime, "--device=" + o.device, "--report=" + answer,
		"--root=" + filepath.Join(o.work, demoRoot), "--settings=" + o.settingsFile(),
		fmt.Sprintf("--stash=%t", c.stash), fmt.Sprintf("--warm-up=%t", c.warmUp), fmt.Sprintf("--memory=%d", c.memory),
	}}.run(ctx, &report)
	return report, err
}

// driverCaches are the variables that say where drivers keep what they have
// compiled.
var driverCaches = []string{"POCL_CACHE_DIR", "CUDA_CACHE_PATH", "NEO_CACHE_DIR", "MESA_SHADER_CACHE_DIR"}

// childEnviron returns the environment of a process: ours without settings of
// the cache, traces apart, and with the driver's caches in dir.
func childEnviron(env []string, dir string) []string {
	env = slices.Clone(env)
	env = slices.DeleteFunc(env, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(driverCaches, name) || name == "POCL_KERNEL_CACHE" ||
			strings.HasPrefix(name, "KERNSTASH_") && !strings.HasPrefix(name, "KERNSTASH_TRACE")
	})
	for _, name := range driverCaches {
		env = append(env, name+"="+dir)
	}
	return env
}

// newDemoReport puts together what the processes measured.
func newDemoReport(cold, fill childReport, warm, peer []childReport) *demoReport {
	r := &demoReport{Runtime: cold.Runtime, Device: cold.Device, Runs: len(warm), CompilerStartMS: millis(cold.WarmUp), OK: true}
	for i, p := range demo.All() {
		row := demoRow{Name: p.Name, Title: p.Title}
		first := cold.Programs[i]
		row.ColdMS, row.ColdFrom = millis(first.Total), first.From
		row.check(first.Wrong, first.From, fromCompiler)
		row.BareColdMS = millis(fill.Programs[i].Total)
		row.check(fill.Programs[i].Wrong, "", "")
		var disk, memory, driver []time.Duration
		for _, w := range warm {
			got := w.Programs[i]
			disk = append(disk, got.Total)
			memory = append(memory, got.Memory...)
			row.DiskFrom, row.MemoryFrom = worse(row.DiskFrom, got.From), worse(row.MemoryFrom, got.MemoryFrom)
			row.check(got.Wrong, got.From, fromDisk)
			row.check("", got.MemoryFrom, fromMemory)
		}
		for _, w := range peer {
			driver = append(driver, w.Programs[i].Total)
			row.check(w.Programs[i].Wrong, "", "")
		}
		row.DiskMS, row.MemoryMS, row.DriverMS = millis(median(disk)), millis(median(memory)), millis(median(driver))
		row.ratios()
		r.OK = r.OK && len(row.Problems) == 0
		r.Programs = append(r.Programs, row)
		r.Total.ColdMS += row.ColdMS
		r.Total.DriverMS += row.DriverMS
		r.Total.DiskMS += row.DiskMS
		r.Total.MemoryMS += row.MemoryMS
	}
	r.Total.ratios()
	return r
}

// worse returns the answer that came from farther away.
func worse(a, b origin) origin {
	order := []origin{"", fromMemory, fromDisk, fromCompiler}
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}

func median(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	d = slices.Sorted(slices.Values(d))
	if n := len(d); n%2 == 0 {
		return (d[n/2-1] + d[n/2]) / 2
	}
	return d[len(d)/2]
}
