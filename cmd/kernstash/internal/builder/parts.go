package builder

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/terminal"
	"github.com/kernstash/kernstash/key"
)

// needsProcesses says whether tasks are done in processes of their own: those of several
// runtimes, whose compilers may be unable to live together, and SPIR-V, as drivers are
// known to end the process at a module that is not valid.
func needsProcesses(tasks []Task) bool {
	return slices.ContainsFunc(tasks, func(t Task) bool { return t.runtime() != tasks[0].runtime() || t.Kind == key.SPIRV })
}

// buildParts builds the files of each runtime in a process of its own, one after the
// other, and puts together what they report.
func buildParts(ctx context.Context, tasks []Task, o Options, p *terminal.Progress) (Report, error) {
	report := Report{OK: true, Files: make([]Result, len(tasks))}
	parts := make(map[string][]int) // places of tasks
	var order []string
	for i, t := range tasks {
		rt := t.runtime()
		if parts[rt] == nil {
			order = append(order, rt)
		}
		parts[rt] = append(parts[rt], i)
	}
	lines := &partLines{p: p, total: len(tasks)}
	var devices []string
	note := func(device string) {
		if device != "" && !slices.Contains(devices, device) {
			devices = append(devices, device)
		}
	}
	for _, runtime := range order {
		places := parts[runtime]
		if device, err := buildPart(ctx, tasks, places, o, lines, report.Files); err == nil {
			note(device)
			continue
		} else if cli.IsUsage(err) || ctx.Err() != nil {
			return report, err
		}
		// The process ended: each file again, by itself, so that only one pays for it.
		lines.done -= lines.said
		for len(places) > 0 {
			n := 1
			for n < len(places) && !tasks[places[n]].first {
				n++
			}
			device, err := buildPart(ctx, tasks, places[:n], o, lines, report.Files)
			if err != nil && (cli.IsUsage(err) || ctx.Err() != nil) {
				return report, err
			}
			note(device)
			for _, i := range places[:n] {
				if err != nil {
					t := tasks[i]
					report.Files[i] = Result{File: t.Path, Runtime: t.runtime(), Arch: t.Arch, State: StateFailed, Reason: err.Error()}
				}
			}
			places = places[n:]
		}
	}
	report.Device = strings.Join(devices, ", ")
	return report, nil
}

// buildPart builds the tasks at some places in one process, and puts their results at
// these. They are of one runtime.
func buildPart(ctx context.Context, tasks []Task, places []int, o Options, lines *partLines, results []Result) (device string, err error) {
	lines.said = 0
	var files []string
	for _, i := range places {
		if tasks[i].first {
			files = append(files, tasks[i].Path)
		}
	}
	args := append([]string{"build-part"}, o.Given...)
	var part Report
	if err := cli.AskSelf(ctx, append(append(args, "--"), files...), nil, lines, &part); err != nil {
		if cli.IsUsage(err) {
			err = cli.Usagef("%s", strings.TrimPrefix(err.Error(), "build: "))
		}
		return "", err
	}
	if len(part.Files) != len(places) {
		return "", fmt.Errorf("%d files instead of %d were reported", len(part.Files), len(places))
	}
	for n, i := range places {
		results[i] = part.Files[n]
	}
	return part.Device, nil
}

// Given returns the flags that were given, as a command line has them.
func Given(flags *pflag.FlagSet) (args []string) {
	flags.Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if all, ok := f.Value.(pflag.SliceValue); ok {
			values = all.GetSlice()
		}
		for _, v := range values {
			args = append(args, "--"+f.Name+"="+v)
		}
	})
	return args
}

// partLines tells people what the processes say they have done.
type partLines struct {
	p           *terminal.Progress
	done, total int
	said        int // by the process under way
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
			l.done, l.said = l.done+1, l.said+1
			l.p.Say("%d/%d %s", l.done, l.total, text)
		}
	}
}
