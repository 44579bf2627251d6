package builder

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/terminal"
)

// buildParts builds the files of each runtime in a process of its own, one after the other.
func buildParts(ctx context.Context, tasks []Task, o Options, p *terminal.Progress) (Report, error) {
	report := Report{OK: true, Files: make([]Result, len(tasks))}
	var parts [][]int // places of tasks of one runtime each
	for i, t := range tasks {
		at := slices.IndexFunc(parts, func(part []int) bool { return tasks[part[0]].runtime() == t.runtime() })
		if at < 0 {
			at, parts = len(parts), append(parts, nil)
		}
		parts[at] = append(parts[at], i)
	}
	lines := &partLines{p: p, total: len(tasks)}
	var devices []string
	for len(parts) > 0 {
		part, files, done := parts[0], byFile(tasks, parts[0]), lines.done
		parts = parts[1:]
		request := partRequest{Options: o}
		for _, file := range files {
			request.Files = append(request.Files, tasks[file[0]].Path)
		}
		var got Report
		err := cli.AskPart(ctx, "build-part", request, nil, lines, &got)
		if err == nil && len(got.Files) != len(part) {
			err = fmt.Errorf("%d files instead of %d were reported", len(got.Files), len(part))
		}
		switch {
		case err == nil:
			for n, i := range part {
				report.Files[i] = got.Files[n]
			}
			if got.Device != "" && !slices.Contains(devices, got.Device) {
				devices = append(devices, got.Device)
			}
		case cli.IsUsage(err) || ctx.Err() != nil:
			return report, err
		case len(files) > 1: // the process ended: each file again, by itself, so that only one pays for it
			lines.done = done
			parts = append(files, parts...)
		default:
			for _, i := range part {
				t := tasks[i]
				report.Files[i] = Result{File: t.Path, Runtime: t.runtime(), Arch: t.Arch, State: StateFailed, Reason: err.Error()}
			}
		}
	}
	report.Device = strings.Join(devices, ", ")
	return report, nil
}

// byFile returns the places of tasks, those of each file together.
func byFile(tasks []Task, places []int) (files [][]int) {
	for _, i := range places {
		if tasks[i].first {
			files = append(files, nil)
		}
		files[len(files)-1] = append(files[len(files)-1], i)
	}
	return files
}

// partRequest asks a process for some files.
type partRequest struct {
	Options Options
	Files   []string
}

// BuildPart builds files in this process, which is for these alone.
func BuildPart(ctx context.Context, q partRequest) (Report, error) {
	o, a := q.Options, &cli.App{Err: os.Stderr, Global: q.Options.Global}
	o.part = true
	tasks, err := tasksFor(q.Files, o)
	if err == nil {
		err = o.useCache(a)
	}
	if err != nil {
		return Report{}, err
	}
	return buildHere(ctx, tasks, o, a.Progress())
}

// partLines tells people what the processes say they have done.
type partLines struct {
	p           *terminal.Progress
	done, total int
	line        []byte
}

// Write takes lines like "1/3 saxpy.cu: built" from standard error.
func (l *partLines) Write(b []byte) (int, error) {
	l.line = append(l.line, b...)
	for {
		line, rest, ok := bytes.Cut(l.line, []byte("\n"))
		if !ok {
			return len(b), nil
		}
		l.line = rest
		var n, of int
		if _, err := fmt.Sscanf(string(line), "%d/%d ", &n, &of); err == nil {
			_, text, _ := strings.Cut(string(line), " ")
			l.done++
			l.p.Say("%d/%d %s", l.done, l.total, text)
		}
	}
}
