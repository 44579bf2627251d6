package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
)

// writing are the commands that make something: entries, files that the user names or that
// switch the cache on, or what another program makes. All others only look.
var writing = []string{
	"build", "bundle create", "bundle import", "bundle pull", "bundle push", "bundle restore", "compile", "completion bash", "completion fish", "completion powershell", "completion zsh", "config set", "config unset", "demo", "disable", "enable",
	"help", "keygen", "man", "remote gc", "remote pull", "remote push", "run", "trust add", "trust revoke", "worker run",
}

// reading are the others, each with arguments that bring it to the cache.
var reading = map[string][]string{
	"agent status": nil, "bundle inspect": {"none.kst"}, "clear": {"--yes"}, "compilers": nil, "config get": {"dir"}, "diff": {"abc", "abd"}, "du": nil, "doctor": {"--quick"}, "env": nil, "forget": {"--yes"}, "gc": nil, "ls": nil, "remote ls": nil, "remote ping": nil, "rebuild": {"--plan"}, "remote stat": nil, "report": {"none.json"}, "scan": {"--portable"}, "serve": {"--report", "none.json"}, "show": {"abc"}, "stat": nil, "top": nil, "pin": nil, "unpin": {"abc"}, "trust list": nil, "verify": nil,
	"version": nil, "why": nil, "worker status": nil, "worker stop": nil, "worker wait": nil,
}

func TestReadingMakesNothing(t *testing.T) {
	var leaves []string
	var walk func(c *cobra.Command, path string)
	walk = func(c *cobra.Command, path string) {
		for _, sub := range c.Commands() {
			walk(sub, strings.TrimSpace(path+" "+sub.Name()))
		}
		if path != "" && !c.Hidden && !c.HasSubCommands() {
			leaves = append(leaves, path)
		}
	}
	root := rootCommand(&cli.App{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	walk(root, "")
	known := slices.Clone(writing)
	for name := range reading {
		known = append(known, name)
	}
	slices.Sort(known)
	slices.Sort(leaves)
	if diff := cmp.Diff(known, leaves); diff != "" {
		t.Errorf("the commands (-known +there):\n%s", diff)
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("OCL_ICD_VENDORS", t.TempDir()) // no driver, which takes seconds
	t.Setenv("KERNSTASH_DIR", filepath.Join(home, "of", "caches"))
	for name, args := range reading {
		for _, more := range [][]string{nil, {"--json"}} {
			args := slices.Concat(strings.Fields(name), args, more)
			run(args, strings.NewReader(""), io.Discard, io.Discard)
			if made, err := os.ReadDir(home); err != nil || len(made) > 0 {
				t.Errorf("%v made %v (%v)", args, made, err)
				os.RemoveAll(filepath.Join(home, "of"))
			}
		}
	}
}
