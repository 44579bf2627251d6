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
	"time"
)

// limit is how long one run may take.
const limit = 10 * time.Minute

// run is one run of an application.
type run struct {
	output  string // normalised
	took    time.Duration
	account account
}

// account is what `kernstash run --report-file` says of it.
type account struct {
	FrontEnd string  `json:"front_end"`
	Note     string  `json:"note"`
	SavedMS  float64 `json:"saved_ms"`
	Jobs     int     `json:"worker_jobs"`
	Programs struct {
		Asked    int `json:"asked"`
		Memory   int `json:"memory"`
		Disk     int `json:"disk"`
		Compiled int `json:"compiled"`
		Passed   int `json:"passed"`
		Failed   int `json:"failed"`
	} `json:"programs"`
	CompiledBecause []count `json:"compiled_because"`
	PassedBecause   []count `json:"passed_because"`
}

type count struct {
	What string `json:"what"`
	N    int    `json:"n"`
}

// stage is where an application runs: a working directory of its own each time, and a home,
// with the caches of the application, of the driver, and ours, each where it is by default.
type stage struct {
	scratch   string
	kernstash string // the command; "" runs without it
	app       *application
	home      string
	notes     string // where reports are kept
}

// common are the variables that every application has. The caches are where they are without
// the last two, but for hashcat's, which asks the user database for the home directory.
func (s stage) common() []string {
	return []string{
		"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "HOME=" + s.home, "OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd",
		"XDG_CACHE_HOME=" + filepath.Join(s.home, ".cache"), "XDG_DATA_HOME=" + filepath.Join(s.home, ".local/share"),
	}
}

// root is where our cache is by default.
func (s stage) root() string { return filepath.Join(s.home, ".cache/kernstash") }

// wipe removes all of the home but our cache, as it is for another user, or in a new container.
func (s stage) wipe() error {
	keep := filepath.Join(s.scratch, "kept")
	return errors.Join(
		os.Rename(s.root(), keep), os.RemoveAll(s.home),
		os.MkdirAll(filepath.Dir(s.root()), 0o700), os.Rename(keep, s.root()),
	)
}

// run runs the application. What it is called is the name of its report.
func (s stage) run(ctx context.Context, called string) (run, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	// The directory's name has no part in what is built: hashcat's options name it.
	work := filepath.Join(s.scratch, "work")
	if err := errors.Join(os.RemoveAll(work), os.Mkdir(work, 0o700), os.MkdirAll(s.home, 0o700)); err != nil {
		return run{}, err
	}
	if s.app.make != nil {
		if err := s.app.make(work); err != nil {
			return run{}, err
		}
	}
	command := s.app.command
	report := filepath.Join(s.notes, called+".json")
	if s.kernstash != "" {
		command = append([]string{s.kernstash, "run", "--report", "--report-file", report, "--"}, command...)
	}
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Dir = work
	c.Env = append(s.common(), s.app.env...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	start := time.Now()
	err := c.Run()
	r := run{took: time.Since(start)}
	if err != nil {
		return r, fmt.Errorf("%s: %w\n%s%s", s.app.name, err, tail(out.Bytes()), tail(errs.Bytes()))
	}
	if s.app.result != "" {
		b, err := os.ReadFile(filepath.Join(work, s.app.result))
		if err != nil {
			return r, err
		}
		out.Write(b)
	}
	r.output = s.app.normal(out.Bytes())
	if s.kernstash != "" {
		if err := os.WriteFile(filepath.Join(s.notes, called+".stderr"), errs.Bytes(), 0o600); err != nil {
			return r, err
		}
		b, err := os.ReadFile(report)
		if err != nil {
			return r, err
		}
		if err := json.Unmarshal(b, &r.account); err != nil {
			return r, fmt.Errorf("%s: %w", report, err)
		}
	}
	return r, nil
}

// settled waits until the worker has done what the cold run left it.
func (s stage) settled(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, err := s.command(ctx, "worker", "run", "--once").CombinedOutput()
	if err != nil {
		return fmt.Errorf("worker run: %w\n%s", err, tail(out))
	}
	return os.WriteFile(filepath.Join(s.notes, "worker-after-cold"), out, 0o600)
}

// command is kernstash itself, for this row's cache.
func (s stage) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, s.kernstash, append([]string{"--dir", s.root()}, args...)...)
	c.Env = s.common()
	return c
}

// stopWorker ends a worker that a warm run has left something to do, so that it is not
// in the next row's way.
func (s stage) stopWorker(ctx context.Context) {
	if _, err := os.Stat(s.root()); err != nil {
		return
	}
	if out, err := s.command(ctx, "worker", "stop", "--timeout", "1m").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "worker stop: %v\n%s", err, tail(out))
	}
}

func tail(b []byte) []byte { return b[max(0, len(b)-2000):] }
