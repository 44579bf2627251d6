package demo

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

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/launch"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/internal/human"
)

// application is an application that knows nothing of us, run as a user would run
// it: what it took from start to end.
type application struct {
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

// found returns the commands that are here: in PATH, or, where they begin with "./", beside
// this command, as those that `make demo` compiles.
func found(commands [][]string) (apps [][]string) {
	command, _ := cli.CommandPath()
	for _, c := range commands {
		path := c[0]
		if strings.HasPrefix(path, "./") {
			path = filepath.Join(filepath.Dir(command), path)
		}
		if path, err := exec.LookPath(path); err == nil {
			apps = append(apps, append([]string{path}, c[1:]...))
		}
	}
	return apps
}

// warmApps is how many warm runs a time is the median of.
const warmApps = 3

// measureApps runs each application alone and with the cache; reason is why none could be.
func (o *Options) measureApps(ctx context.Context, apps [][]string) (all []application, reason string, err error) {
	if len(apps) == 0 {
		return nil, "", nil
	}
	command, err := cli.CommandPath()
	if err != nil {
		return nil, "", err
	}
	if _, err := launch.Find(); err != nil {
		return nil, err.Error(), nil
	}
	for i, args := range apps {
		a := appRun{options: o, dir: filepath.Join(o.work, fmt.Sprintf("app-%d", i)), kernstash: command, args: args}
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
	options   *Options
	dir       string // of its caches
	kernstash string
	args      []string
	texts     []string
	report    launch.Outcome // of the last run with kernstash
}

func (a *appRun) measure(ctx context.Context) (app application, err error) {
	app = application{Command: a.args}
	// run does one step with a cache of the driver's own, unless one before failed.
	run := func(what, driverCache string, cached bool) (took time.Duration) {
		if err == nil {
			a.options.progress.Say("%s %s", filepath.Base(a.args[0]), what)
			took, err = a.run(ctx, driverCache, cached)
		}
		return took
	}
	app.AloneMS = human.Millis(run("alone", "filled", false))
	app.AgainMS = human.Millis(run("alone", "filled", false))
	app.ColdMS = human.Millis(run("with kernstash: compiling", "cold", true))
	if err != nil {
		return app, err
	}
	if a.report.Note != "" {
		app.Problems = append(app.Problems, a.report.Note)
	}
	a.options.progress.Say("%s with kernstash: finishing in the background", filepath.Base(a.args[0]))
	defer a.worker(context.WithoutCancel(ctx), "stop")
	a.worker(ctx, "wait")
	var warm []time.Duration
	for i := range warmApps {
		warm = append(warm, run("with kernstash: warm", fmt.Sprintf("warm-%d", i), true))
	}
	app.WarmMS = human.Millis(median(warm))
	app.Ratio = app.AloneMS / app.WarmMS
	app.OnDisk, app.Compiled = a.report.Outcomes.Disk, a.report.Outcomes.Compiled
	app.Same = len(slices.Compact(a.texts)) == 1
	if app.Compiled > 0 || app.OnDisk == 0 && len(app.Problems) == 0 {
		app.Problems = append(app.Problems, fmt.Sprintf("a second start found %s and compiled %d", human.Plural(app.OnDisk, "program"), app.Compiled))
	}
	return app, err
}

func (a *appRun) environ(driverCache string) []string {
	return append(runtimes.Environ(os.Environ(), driverCache),
		"KERNSTASH_DIR="+filepath.Join(a.dir, demoRoot),
		"XDG_CONFIG_HOME="+a.options.work) // the user's settings have no part in it
}

// run runs the application and returns what it took.
func (a *appRun) run(ctx context.Context, driverCache string, cached bool) (took time.Duration, err error) {
	driverCache = filepath.Join(a.dir, driverCache)
	if err := os.MkdirAll(driverCache, 0o700); err != nil {
		return 0, err
	}
	args, said := a.args, driverCache+".json"
	if cached {
		args = append([]string{a.kernstash, "run", "--quiet", "--report-file", said, "--"}, args...)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env, cmd.Dir = a.environ(driverCache), a.options.work
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = cli.Limit(&out, 16<<20), cli.Limit(&log, 64<<10)
	start := time.Now()
	err = cmd.Run()
	took = time.Since(start)
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case err != nil:
		return 0, errors.Join(err, errors.New(strings.TrimSpace(log.String())))
	}
	a.texts = append(a.texts, out.String())
	if !cached {
		return took, nil
	}
	b, err := os.ReadFile(said)
	a.report = launch.Outcome{}
	return took, errors.Join(err, json.Unmarshal(b, &a.report))
}

// worker waits for the worker, or stops it. What goes wrong shows in what follows.
func (a *appRun) worker(ctx context.Context, what string) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, a.kernstash, "worker", what)
	cmd.Env = a.environ(a.options.work)
	_ = cmd.Run()
}
