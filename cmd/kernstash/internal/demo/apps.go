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

// application is an application that knows nothing of us, and what it takes from start to end.
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

	options   *Options
	dir       string // of its caches
	kernstash string
	texts     []string       // that it wrote
	report    launch.Outcome // of the last run with kernstash
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

// measureApps adds to a report what each application takes, alone and with the cache.
func (o *Options) measureApps(ctx context.Context, apps [][]string, r *report) error {
	command, err := cli.CommandPath()
	if err != nil || len(apps) == 0 {
		return err
	}
	if _, err := launch.Find(); err != nil && o.Apps == nil {
		r.NoApps = err.Error()
		return nil
	} else if err != nil {
		return err
	}
	for i, args := range apps {
		a := application{Command: args, options: o, dir: filepath.Join(o.work, fmt.Sprintf("app-%d", i)), kernstash: command}
		if err := a.measure(ctx); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(args, " "), err)
		}
		r.Apps = append(r.Apps, a)
		r.OK = r.OK && len(a.Problems) == 0
	}
	return nil
}

func (a *application) measure(ctx context.Context) (err error) {
	say := func(what string) { a.options.progress.Say("%s %s", filepath.Base(a.Command[0]), what) }
	// run does one step with a cache of the driver's own, unless one before failed.
	run := func(what, driverCache string, cached bool) (took time.Duration) {
		if err == nil {
			say(what)
			took, err = a.run(ctx, driverCache, cached)
		}
		return took
	}
	a.AloneMS = human.Millis(run("alone", "filled", false))
	a.AgainMS = human.Millis(run("alone", "filled", false))
	a.ColdMS = human.Millis(run("with kernstash: compiling", "cold", true))
	if err != nil {
		return err
	}
	if a.report.Note != "" {
		a.Problems = append(a.Problems, a.report.Note)
	}
	say("with kernstash: finishing in the background")
	defer a.worker(context.WithoutCancel(ctx), "stop")
	a.worker(ctx, "wait")
	var warm []time.Duration
	for i := range warmApps {
		warm = append(warm, run("with kernstash: warm", fmt.Sprintf("warm-%d", i), true))
	}
	a.WarmMS = human.Millis(median(warm))
	a.Ratio = a.AloneMS / a.WarmMS
	a.OnDisk, a.Compiled = a.report.Outcomes.Disk, a.report.Outcomes.Compiled
	a.Same = len(slices.Compact(a.texts)) == 1
	if a.Compiled > 0 || a.OnDisk == 0 && len(a.Problems) == 0 {
		a.Problems = append(a.Problems, fmt.Sprintf("a second start found %s and compiled %d", human.Plural(a.OnDisk, "program"), a.Compiled))
	}
	return err
}

func (a *application) environ(driverCache string) []string {
	return append(runtimes.Environ(os.Environ(), driverCache),
		"KERNSTASH_DIR="+filepath.Join(a.dir, demoRoot),
		"XDG_CONFIG_HOME="+a.options.work) // the user's settings have no part in it
}

// run runs the application and returns what it took.
func (a *application) run(ctx context.Context, driverCache string, cached bool) (took time.Duration, err error) {
	driverCache = filepath.Join(a.dir, driverCache)
	if err := os.MkdirAll(driverCache, 0o700); err != nil {
		return 0, err
	}
	args, said := a.Command, driverCache+".json"
	if cached {
		args = append([]string{a.kernstash, "run", "--quiet", "--report-file", said, "--"}, args...)
	}
	cmd := cli.Interruptibly(ctx, args...)
	cmd.Env, cmd.Dir = a.environ(driverCache), a.options.work
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
func (a *application) worker(ctx context.Context, what string) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, a.kernstash, "worker", what)
	cmd.Env = a.environ(a.options.work)
	_ = cmd.Run()
}
