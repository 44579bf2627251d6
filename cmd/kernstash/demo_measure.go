package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
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
	self, err := os.Executable()
	if err != nil {
		return report, err
	}
	answer := filepath.Join(dir, "kernstash-demo.json") // drivers may write to standard output
	args := []string{
		"demo-child", "--runtime=" + o.runtime, "--device=" + o.device, "--report=" + answer, "--root=" + filepath.Join(o.work, demoRoot),
		"--settings=" + o.settingsFile(), fmt.Sprintf("--stash=%t", c.stash),
		fmt.Sprintf("--warm-up=%t", c.warmUp), fmt.Sprintf("--memory=%d", c.memory),
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Args[0] = os.Args[0] // a test is this command only by that name
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = childEnviron(os.Environ(), dir)
	var log bytes.Buffer
	cmd.Stderr = &limited{&log, 64 << 10}
	if err := cmd.Run(); err != nil {
		return report, childError(err, log.String())
	}
	b, err := os.ReadFile(answer)
	if err != nil {
		return report, err
	}
	if err := json.Unmarshal(b, &report); err != nil {
		return report, fmt.Errorf("process answered what cannot be read: %w", err)
	}
	return report, nil
}

// childError makes of what a process said before it failed what we say.
func childError(err error, log string) error {
	text := strings.TrimPrefix(strings.TrimSpace(log), "kernstash: ")
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == exitUsage:
		text, _, _ = strings.Cut(text, "\nrun '")
		return &usageError{errors.New(text)}
	case text == "":
		return fmt.Errorf("process: %w", err)
	case exit != nil && exit.ExitCode() == exitFound:
		return errors.New(text) // it says what is the matter
	}
	return fmt.Errorf("process: %w: %s", err, text)
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

// limited passes at most left bytes on and swallows the rest.
type limited struct {
	w    io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	if _, err := l.w.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
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
