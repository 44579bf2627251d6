package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/internal/launch"
)

// demoApp is an application that knows nothing of us, run as a user would run
// it: what it took from start to end.
type demoApp struct {
	Command  []string `json:"command"`
	AloneMS  float64  `json:"alone_ms"`  // without kernstash, the driver's own cache empty
	AgainMS  float64  `json:"again_ms"`  // likewise, with the driver's cache filled by the first
	ColdMS   float64  `json:"cold_ms"`   // with kernstash, both caches empty
	WarmMS   float64  `json:"warm_ms"`   // with kernstash, the driver's cache empty
	Ratio    float64  `json:"ratio"`     // alone / warm
	OnDisk   int      `json:"on_disk"`   // programs, of the last warm run
	Compiled int      `json:"compiled"`  // likewise
	Same     bool     `json:"same_text"` // it wrote the same each time
	Problems []string `json:"problems,omitempty"`
}

// knownApps are the applications that the demonstration takes where they are: the
// example of this repository, which `make demo` compiles, and clpeak.
func knownApps() (apps [][]string) {
	if command, err := commandPath(); err == nil {
		if example := filepath.Join(filepath.Dir(command), "saxpy"); isExecutable(example) {
			apps = append(apps, []string{example})
		}
	}
	if clpeak, err := exec.LookPath("clpeak"); err == nil {
		apps = append(apps, []string{clpeak, "--kernel-latency"})
	}
	return apps
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// warmApps is how many warm runs a time is the median of.
const warmApps = 3

// measureApps runs each application alone and with the cache. A reason is why
// none could be.
func (o demoOptions) measureApps(ctx context.Context, apps [][]string) (all []demoApp, reason string, err error) {
	if len(apps) == 0 {
		return nil, "", nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	if _, err := launch.Find(os.Environ(), self); err != nil {
		return nil, err.Error(), nil
	}
	command, err := commandPath()
	if err != nil {
		return nil, "", err
	}
	for i, args := range apps {
		a := appRun{options: o, number: i, kernstash: command, args: args}
		app, err := a.measure(ctx)
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", strings.Join(args, " "), err)
		}
		all = append(all, app)
	}
	return all, "", nil
}

// appRun measures one application.
type appRun struct {
	options   demoOptions
	number    int
	kernstash string
	args      []string

	caches int // of the driver, made so far
	texts  []string
}

func (a *appRun) measure(ctx context.Context) (app demoApp, err error) {
	app = demoApp{Command: a.args}
	name := filepath.Base(a.args[0])
	say := func(what string) { a.options.progress.say("%s %s", name, what) }

	say("alone")
	filled := a.driverCache()
	if app.AloneMS, err = a.run(ctx, filled, nil); err != nil {
		return app, err
	}
	if app.AgainMS, err = a.run(ctx, filled, nil); err != nil {
		return app, err
	}
	say("with kernstash: compiling")
	var report launch.Outcome
	if app.ColdMS, err = a.run(ctx, a.driverCache(), &report); err != nil {
		return app, err
	}
	if note := report.Note; note != "" {
		app.Problems = append(app.Problems, note)
	}
	say("with kernstash: finishing in the background")
	defer a.worker(context.WithoutCancel(ctx), "stop")
	a.worker(ctx, "wait")
	var warm []time.Duration
	for range warmApps {
		say("with kernstash: warm")
		report = launch.Outcome{}
		ms, err := a.run(ctx, a.driverCache(), &report)
		if err != nil {
			return app, err
		}
		warm = append(warm, time.Duration(ms*float64(time.Millisecond)))
	}
	app.WarmMS = millis(median(warm))
	app.Ratio = app.AloneMS / app.WarmMS
	app.OnDisk, app.Compiled = report.Programs.Disk, report.Programs.Compiled
	app.Same = len(slices.Compact(a.texts)) == 1
	if app.Compiled > 0 || app.OnDisk == 0 && len(app.Problems) == 0 {
		app.Problems = append(app.Problems, fmt.Sprintf("a second start found %s and compiled %d", plural(app.OnDisk, "program"), app.Compiled))
	}
	return app, nil
}

// driverCache returns a name for an empty one.
func (a *appRun) driverCache() string {
	a.caches++
	return filepath.Join(a.options.work, fmt.Sprintf("app-%d-driver-%d", a.number, a.caches))
}

func (a *appRun) environ(driverCache string) []string {
	return append(childEnviron(os.Environ(), driverCache),
		"KERNSTASH_DIR="+filepath.Join(a.options.work, fmt.Sprintf("app-%d-stash", a.number)),
		"XDG_CONFIG_HOME="+a.options.work) // the user's settings have no part in it
}

// run runs the application, with the cache where a report is wanted, and returns
// what it took.
func (a *appRun) run(ctx context.Context, driverCache string, report *launch.Outcome) (ms float64, err error) {
	if err := os.MkdirAll(driverCache, 0o700); err != nil {
		return 0, err
	}
	args := a.args
	said := driverCache + ".json"
	if report != nil {
		args = append([]string{a.kernstash, "run", "--quiet", "--json", said, "--"}, args...)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = a.environ(driverCache)
	cmd.Dir = a.options.work
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &limited{&out, 16 << 20}, &limited{&log, 64 << 10}
	start := time.Now()
	err = cmd.Run()
	took := time.Since(start)
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if err != nil {
		return 0, errors.Join(err, errors.New(strings.TrimSpace(log.String())))
	}
	a.texts = append(a.texts, out.String())
	if report == nil {
		return millis(took), nil
	}
	b, err := os.ReadFile(said)
	if err != nil {
		return 0, err
	}
	return millis(took), json.Unmarshal(b, report)
}

// worker waits for the worker of the demonstration, or stops it. What goes wrong
// shows in what follows.
func (a *appRun) worker(ctx context.Context, what string) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, a.kernstash, "worker", what)
	cmd.Env = a.environ(a.options.work)
	_ = cmd.Run()
}

// writeApps writes the table of applications.
func (r *demoReport) writeApps(b *strings.Builder, t terminal) error {
	if r.NoApps != "" {
		fmt.Fprintf(b, "No unchanged application was run: %s\n", printable(r.NoApps, false))
	}
	if len(r.Apps) == 0 {
		return nil
	}
	fmt.Fprintf(b, "Applications that know nothing of kernstash, from start to end, in ms:\n\n")
	rows := newTable("APPLICATION", ">ALONE", ">AGAIN", ">COLD", ">WARM", ">ALONE/WARM")
	for _, a := range r.Apps {
		words := append([]string{filepath.Base(a.Command[0])}, a.Command[1:]...)
		rows.add(printable(strings.Join(words, " "), false), figures(a.AloneMS), figures(a.AgainMS),
			figures(a.ColdMS), figures(a.WarmMS), fmt.Sprintf("%.1f x", a.Ratio))
	}
	if err := rows.write(b); err != nil {
		return err
	}
	fmt.Fprintf(b, "\nAlone: without kernstash, the driver's own cache empty; again: filled by the first. "+
		"Cold and warm:\nunder 'kernstash run', the driver's cache empty; warm: the median of %s.\n", plural(warmApps, "run"))
	for _, a := range r.Apps {
		for _, text := range a.Problems {
			fmt.Fprintf(b, "%s %s: %s\n", t.paint(red, "WRONG"), filepath.Base(a.Command[0]), printable(text, false))
		}
	}
	return nil
}
