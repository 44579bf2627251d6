package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/configfile"
	"github.com/kernstash/kernstash/internal/human"
)

// otherWords are what people call commands that have other names here.
var otherWords = map[string]string{
	"dir": "ls", "info": "show", "inspect": "show", "cat": "show", "get": "show", "explain": "show",
	"statistics": "stat", "usage": "stat", "size": "stat", "watch": "top", "monitor": "top", "compare": "diff",
	"check": "verify", "fsck": "verify", "validate": "verify",
	"trim": "gc", "evict": "gc", "cleanup": "gc",
	"purge": "clear", "wipe": "clear", "rm": "clear", "delete": "clear", "remove": "clear", "reset": "clear",
	"exec": "run", "start": "run", "add": "build", "make": "build", "warm": "build",
	"settings": "config", "set": "config set", "unset": "config unset", "diagnose": "doctor", "diag": "doctor", "test": "doctor",
	"on": "enable", "off": "disable", "install": "enable", "uninstall": "disable",
	"daemon": "worker", "jobs": "worker", "benchmark": "demo", "bench": "demo", "completions": "completion", "pages": "man",
}

// unknownCommand is the error for a command that does not exist, with the likely one.
func unknownCommand(cmd *cobra.Command, name string) error {
	var names []string
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	meant := nearest(strings.ToLower(name), names)
	if other := otherWords[strings.ToLower(name)]; other != "" && !cmd.HasParent() {
		meant = other
	}
	if cmd.Name() == "config" && meant == "" && configfile.Has(name) {
		meant = "get " + name
	}
	if meant != "" {
		meant = fmt.Sprintf("; is it '%s %s'?", cmd.CommandPath(), meant)
	}
	return cli.Usagef("unknown command %q for %q%s", name, cmd.CommandPath(), meant)
}

// wanted says what flags of a type accept.
var wanted = map[string]string{"duration": "a time such as 30s or 10m", "int": "a whole number", "bool": "true or false"}

// unknownFlag adds to the error for a flag that does not exist the likely one.
func unknownFlag(cmd *cobra.Command, err error) error {
	if bad, is := errors.AsType[*pflag.InvalidValueError](err); is && wanted[bad.GetFlag().Value.Type()] != "" {
		return cli.Usagef("--%s %s: want %s", bad.GetFlag().Name, human.Printable(bad.GetValue(), false), wanted[bad.GetFlag().Value.Type()])
	}
	missing, is := errors.AsType[*pflag.NotExistError](err)
	if !is || len(missing.GetSpecifiedName()) < 2 {
		text, _, _ := strings.Cut(err.Error(), ": strconv.") // which says nothing to people
		return cli.Usage(errors.New(text))
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if meant := nearest(missing.GetSpecifiedName(), names); meant != "" {
		err = fmt.Errorf("%w; is it --%s?", err, meant)
	}
	return cli.Usage(err)
}

// nearest returns the name that differs least from what was typed, "" if all differ by
// more than a third, or more than two characters.
func nearest(typed string, names []string) (best string) {
	const most = 2
	least := most + 1
	for _, name := range names {
		if strings.HasPrefix(name, typed) && len(typed) > 1 {
			return name
		}
		if d := human.Distance(typed, name); d < least && 3*d <= max(len(typed), len(name))+1 {
			best, least = name, d
		}
	}
	return best
}

// noArgs refuses arguments, and names what is likely to be meant.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasSubCommands() {
		return unknownCommand(cmd, args[0])
	}
	hints := map[string]string{
		"ls": "; 'kernstash show KEY' shows one entry",
	}
	return cli.Usagef("%s: takes no argument: %s%s", cmd.Name(), args[0], hints[cmd.Name()])
}

// wants refuses fewer or more arguments, and says what they are.
func wants(least, most int, text string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return cli.Usagef("%s", text)
		}
		return nil
	}
}

// exits is the part of a command's help that says what its exit statuses mean.
func exits(meanings ...string) string {
	text, all := "\n\nEXIT STATUS", [3]string{2: "a flag makes no sense"}
	copy(all[:], meanings)
	for status, meaning := range all {
		if meaning != "" {
			text += fmt.Sprintf("\n  %d  %s", status, meaning)
		}
	}
	return text
}

// completeCommand completes a command and its arguments: a program or a file, then files.
func completeCommand(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 || strings.ContainsRune(typed, filepath.Separator) {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var names []cobra.Completion
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		files, _ := os.ReadDir(dir)
		for _, f := range files {
			if !strings.HasPrefix(f.Name(), typed) {
				continue
			}
			if _, err := exec.LookPath(filepath.Join(dir, f.Name())); err == nil {
				names = append(names, f.Name())
			}
		}
	}
	if len(names) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	slices.Sort(names)
	return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
}

// completeFlag adds what a flag takes.
func completeFlag(cmd *cobra.Command, name string, values []string) {
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
