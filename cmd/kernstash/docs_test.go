package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/settings"
)

// TestCommandDocument: docs/COMMAND.md names every command.
func TestCommandDocument(t *testing.T) {
	t.Parallel()
	document := readDocument(t, "COMMAND.md")
	for _, cmd := range rootCommand(&cli.App{}).Commands() {
		if !cmd.Hidden && !strings.Contains(document, "`"+cmd.Name()) {
			t.Errorf("command %s is not in the document", cmd.Name())
		}
	}
}

// TestSettingsDocument: the table of docs/SETTINGS.md has every setting once, in the order of `kernstash config`,
// with its variable, its default, and an example that is accepted and is not the default.
func TestSettingsDocument(t *testing.T) {
	t.Parallel()
	s, err := settings.Load(settings.Inputs{Environ: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(readDocument(t, "SETTINGS.md"), "\n## All settings\n")
	table, _, _ = strings.Cut(table, "\n## ")
	var rows [][]string
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, "| `KERNSTASH_") {
			rows = append(rows, strings.Split(strings.Trim(line, "| \n"), " | "))
		}
	}
	items := s.All()
	if len(rows) != len(items) {
		t.Fatalf("the document has %d settings, the program %d", len(rows), len(items))
	}
	for i, item := range items {
		row := rows[i]
		if len(row) != 6 || row[0] != "`"+item.Variable+"`" || row[1] != "`"+item.Name+"`" {
			t.Errorf("the row of %s is %q", item.Name, row)
			continue
		}
		isPath := item.Name == "dir" || item.Name == "trust" // written otherwise, and for each system
		if !isPath && item.Default != "" && row[2] != item.Default {
			t.Errorf("setting %s has another default than %s in the document: %s", item.Name, item.Default, row[2])
		}
		example := strings.Trim(row[5], "`")
		with, err := settings.Load(settings.Inputs{Environ: []string{item.Variable + "=" + example}})
		if err != nil || len(with.Warnings) > 0 {
			t.Errorf("the example of %s: %v, %v", item.Name, err, with.Warnings)
			continue
		}
		if now := with.All()[i]; now.Value == item.Value {
			t.Errorf("the example of %s, %s, changes nothing", item.Name, example)
		}
	}
}

func readDocument(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
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

// TestHelpFits: the help of each command fits the width, with its examples as they are.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	root := rootCommand(&cli.App{})
	all := append([]*cobra.Command{root}, root.Commands()...)
	for _, cmd := range root.Commands() {
		all = append(all, cmd.Commands()...)
	}
	for _, cmd := range all {
		if cmd.Hidden {
			continue
		}
		text := helpText(cmd, 80)
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %s", cmd.CommandPath(), n, line)
			}
		}
		if !strings.Contains(text, cmd.Example) || strings.Contains(text, "stringArray") {
			t.Errorf("%s:\n%s", cmd.CommandPath(), text)
		}
	}
}
