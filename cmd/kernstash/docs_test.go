package main

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/manual"
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

// TestHelpFits: no line of a command's help is wider than 80 columns, examples included.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		if cmd.Hidden || cmd.Name() == "completion" { // whose examples are cobra's
			return
		}
		var b strings.Builder
		if err := manual.Help(&b, cmd, 80); err != nil {
			t.Error(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %s", cmd.CommandPath(), n, line)
			}
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(rootCommand(&cli.App{Out: bufio.NewWriter(io.Discard)}))
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
