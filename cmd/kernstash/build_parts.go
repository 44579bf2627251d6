package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// buildPartCommand is how build runs itself for the files of one runtime of several.
func (a *app) buildPartCommand() *cobra.Command {
	cmd := a.buildCommand()
	cmd.Use, cmd.Hidden = "build-part", true
	cmd.Flags().String("report", "", "")
	return cmd
}

// needsProcesses says whether tasks are done in processes of their own: those of several
// runtimes, whose compilers may be unable to live together, and SPIR-V, as drivers are
// known to end the process at a module that is not valid.
func needsProcesses(tasks []buildTask) bool {
	return slices.ContainsFunc(tasks, func(t buildTask) bool { return t.runtime != tasks[0].runtime || isSPIRV(t.file) })
}

// buildParts builds the files of each runtime in a process of its own, one after the
// other, and puts together what they report.
func (a *app) buildParts(ctx context.Context, tasks []buildTask, o buildOptions, p *progress) (buildReport, error) {
	report := buildReport{OK: true, Files: make([]buildResult, len(tasks))}
	parts := make(map[string][]int) // places of tasks
	var order []string
	for i, t := range tasks {
		if parts[t.runtime] == nil {
			order = append(order, t.runtime)
		}
		parts[t.runtime] = append(parts[t.runtime], i)
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
		if device, err := a.buildPart(ctx, tasks, places, o, lines, report.Files); err == nil {
			note(device)
			continue
		} else if isUsage(err) || ctx.Err() != nil {
			return report, err
		}
		// The process ended: each file again, by itself, so that only one pays for it.
		lines.done -= lines.said
		for len(places) > 0 {
			n := 1
			for n < len(places) && !tasks[places[n]].first {
				n++
			}
			device, err := a.buildPart(ctx, tasks, places[:n], o, lines, report.Files)
			if err != nil && (isUsage(err) || ctx.Err() != nil) {
				return report, err
			}
			note(device)
			for _, i := range places[:n] {
				if err != nil {
					t := tasks[i]
					report.Files[i] = buildResult{File: t.file, Runtime: t.runtime, Arch: t.arch, State: stateFailed, Reason: err.Error()}
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
func (a *app) buildPart(ctx context.Context, tasks []buildTask, places []int, o buildOptions, lines *partLines, results []buildResult) (device string, err error) {
	lines.said = 0
	var files []string
	for _, i := range places {
		if tasks[i].first {
			files = append(files, tasks[i].file)
		}
	}
	args := append([]string{"build-part"}, a.buildArgs(o)...)
	var part buildReport
	if err := askSelf(ctx, append(append(args, "--"), files...), lines, &part); err != nil {
		if isUsage(err) {
			err = usagef("%s", strings.TrimPrefix(err.Error(), "build: "))
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

func isUsage(err error) bool {
	var usage *usageError
	return errors.As(err, &usage)
}

// buildArgs returns the flags that were given, for files of any one runtime.
func (a *app) buildArgs(o buildOptions) []string {
	args := []string{
		"--options=" + o.options, "--device=" + o.device, "--runtime=" + o.runtime,
		fmt.Sprintf("--no-options=%t", o.noOptions), fmt.Sprintf("--jobs=%d", o.jobs),
	}
	if o.programName != nil {
		args = append(args, "--program-name="+*o.programName)
	}
	if a.dir != "" {
		args = append(args, "--dir="+a.dir)
	}
	if a.config != "" {
		args = append(args, "--config="+a.config)
	}
	for _, each := range []struct {
		flag   string
		values []string
	}{
		{"set", a.set},
		{"define", o.defines},
		{"include", o.includes},
		{"arch", o.archs},
		{"name-expression", o.expressions},
	} {
		for _, v := range each.values {
			args = append(args, "--"+each.flag+"="+v)
		}
	}
	for _, s := range o.localSizes {
		args = append(args, fmt.Sprintf("--local-size=%dx%dx%d", s[0], s[1], s[2]))
	}
	return args
}

// partLines tells people what the processes say they have done.
type partLines struct {
	p           *progress
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
			l.p.say("%d/%d %s", l.done, l.total, text)
		}
	}
}
