package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// startRuns is how many processes each time of a warm start is the median of.
const startRuns = 5

// started is what `kernstash demo --json` writes of a program.
type started struct {
	Name     string  `json:"name"`
	ColdMS   float64 `json:"cold_ms"`
	DriverMS float64 `json:"driver_ms"`
	DiskMS   float64 `json:"disk_ms"`
	MemoryMS float64 `json:"memory_ms"`
}

// starts is what the command wrote.
type starts struct {
	Device   string    `json:"device"`
	Programs []started `json:"programs"`
	Total    started   `json:"total"`
	OK       bool      `json:"ok"`
}

// measureStarts builds the command and has it demonstrate: fresh processes
// with our cache warm and the driver's empty, and the other way round.
func measureStarts(ctx context.Context, dir string) (s starts, err error) {
	bin := filepath.Join(dir, "kernstash")
	build := exec.CommandContext(ctx, "go", "build", "-o", bin, "./cmd/kernstash")
	build.Dir, build.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return s, fmt.Errorf("build the command: %w: %s", err, out)
	}
	demo := exec.CommandContext(ctx, bin, "demo", "--json", "--runs", strconv.Itoa(startRuns))
	out, err := demo.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return s, fmt.Errorf("kernstash demo: %w: %s", err, exit.Stderr)
	}
	if err != nil {
		return s, fmt.Errorf("kernstash demo: %w", err)
	}
	if err := json.Unmarshal(out, &s); err != nil {
		return s, err
	}
	if !s.OK {
		return s, errors.New("kernstash demo: a number was wrong, or a second start compiled")
	}
	return s, nil
}

// results returns a row for each program.
func (s starts) results() (rows []result) {
	s.Total.Name = "all of them"
	for _, p := range append(s.Programs, s.Total) {
		rows = append(rows, result{
			Group: groupStart, Name: fmt.Sprintf("warm start of %s in a new process / with the driver's own cache", p.Name),
			Ours: ms(p.DiskMS), Theirs: ms(p.DriverMS), Ratio: p.DiskMS / p.DriverMS, Bar: bar{}.String(), Within: true,
			Peers: []peerResult{{"compiling, no cache", ms(p.ColdMS), p.ColdMS / p.DiskMS}},
		})
	}
	return rows
}

func ms(v float64) time.Duration { return time.Duration(v * float64(time.Millisecond)) }
