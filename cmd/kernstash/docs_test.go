package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/settings"
)

// TestCommandDocument: docs/COMMAND.md names every command, and every setting
// with its default.
func TestCommandDocument(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "COMMAND.md"))
	if err != nil {
		t.Fatal(err)
	}
	document := string(b)
	for _, cmd := range rootCommand(&cli.App{}).Commands() {
		if !cmd.Hidden && !strings.Contains(document, "`"+cmd.Name()) {
			t.Errorf("command %s is not in the document", cmd.Name())
		}
	}
	s, err := settings.Load(settings.Inputs{Environ: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range s.All() {
		row := "| `" + item.Variable + "` | `" + item.Name + "` | "
		if !strings.Contains(document, row) {
			t.Errorf("setting %s is not in the document", item.Name)
		}
		isPath := item.Name == "dir" || item.Name == "trust" // written otherwise, and for each system
		if !isPath && item.Default != "" && !strings.Contains(document, row+item.Default+" |") {
			t.Errorf("setting %s has another default than %s in the document", item.Name, item.Default)
		}
	}
}

// TestHelpSaysWhatItEndsWith: every command's help has examples, and says what
// its exit statuses mean.
func TestHelpSaysWhatItEndsWith(t *testing.T) {
	t.Parallel()
	for _, cmd := range rootCommand(&cli.App{}).Commands() {
		if cmd.Hidden {
			continue
		}
		if !strings.Contains(cmd.Long, "EXIT STATUS") || cmd.Example == "" {
			t.Errorf("%s: no exit status, or no example", cmd.Name())
		}
	}
}

// TestHelpInGroups: the help shows each command in a group, but for those that are about the command itself.
func TestHelpInGroups(t *testing.T) {
	t.Parallel()
	root := rootCommand(&cli.App{})
	groups := make(map[string]int)
	var rest []string
	for _, cmd := range root.Commands() {
		switch {
		case cmd.Hidden:
		case cmd.GroupID == "":
			rest = append(rest, cmd.Name())
		default:
			groups[cmd.GroupID]++
		}
	}
	if diff := cmp.Diff([]string{"completion", "help", "man", "version"}, rest); diff != "" || len(groups) != len(root.Groups()) {
		t.Errorf("%v, %s", groups, diff)
	}
}
