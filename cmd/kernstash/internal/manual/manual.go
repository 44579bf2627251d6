// Package manual writes the manual pages of a command and its subcommands. cobra's own would have every start
// of the command compile the patterns of a parser of Markdown.
package manual

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Section is a list at the end of the page of the first command, to which the others refer.
type Section struct {
	Title string
	Items [][2]string // terms, and what they mean
}

// Write writes a page for a command and each command below it, but for those that are hidden, into a directory.
func Write(c *cobra.Command, dir string, date time.Time, sections []Section) error {
	c.InitDefaultHelpFlag()
	if err := os.WriteFile(filepath.Join(dir, name(c)+".1"), page(c, date, sections), 0o644); err != nil {
		return err
	}
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		if err := Write(sub, dir, date, sections); err != nil {
			return err
		}
	}
	return nil
}

// name is that of a command's page.
func name(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// page returns a page in the language of man(7).
func page(c *cobra.Command, date time.Time, sections []Section) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, ".TH \"%s\" \"1\" \"%s\" \"kernstash\" \"kernstash manual\"\n", strings.ToUpper(name(c)), date.Format("Jan 2006"))
	fmt.Fprintf(&b, ".nh\n.SH NAME\n%s \\- %s\n", escape(name(c)), escape(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n\\fB%s\\fP\n.SH DESCRIPTION\n", escape(c.UseLine()))
	writeText(&b, c.Long)
	if len(c.Aliases) > 0 {
		fmt.Fprintf(&b, ".SH OTHER NAMES\n%s\n", escape(strings.Join(c.Aliases, ", ")))
	}
	writeCommands(&b, c)
	writeFlags(&b, "OPTIONS", c.NonInheritedFlags())
	writeFlags(&b, "OPTIONS OF ALL COMMANDS", c.InheritedFlags())
	for _, s := range sections {
		fmt.Fprintf(&b, ".SH %s\n", s.Title)
		if c.HasParent() {
			fmt.Fprintf(&b, "See \\fB%s\\fP(1).\n", escape(name(c.Root())))
			continue
		}
		for _, item := range s.Items {
			fmt.Fprintf(&b, ".TP\n\\fB%s\\fP\n%s\n", escape(item[0]), lines(item[1]))
		}
	}
	if c.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLE\n.EX\n%s\n.EE\n", lines(c.Example))
	}
	var also []string
	if c.HasParent() {
		also = append(also, name(c.Parent()))
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			also = append(also, name(sub))
		}
	}
	for i, other := range also {
		also[i] = "\\fB" + escape(other) + "\\fP(1)"
	}
	if len(also) > 0 {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", strings.Join(also, ",\n"))
	}
	return b.Bytes()
}

// writeText writes paragraphs. A line in capitals begins a section; lines that are indented stay as they are.
func writeText(b *bytes.Buffer, text string) {
	const filled, verbatim = ".PP\n", ".EX\n"
	begun := filled
	for line := range strings.Lines(strings.TrimSpace(text) + "\n") {
		line = strings.TrimRight(line, "\n")
		indented := strings.HasPrefix(line, " ")
		if begun == verbatim && !indented {
			b.WriteString(".EE\n")
		}
		switch {
		case line == "":
			begun = ""
			continue
		case isTitle(line):
			fmt.Fprintf(b, ".SH %s\n", line)
			begun = filled
			continue
		case indented && begun != verbatim:
			begun = verbatim
			b.WriteString(verbatim)
		case !indented && begun != filled:
			begun = filled
			b.WriteString(filled)
		}
		b.WriteString(lines(line) + "\n")
	}
	if begun == verbatim {
		b.WriteString(".EE\n")
	}
}

// isTitle reports whether a line begins a section.
func isTitle(line string) bool {
	return line != "" && strings.Trim(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZ ") == ""
}

// writeCommands writes what the commands below a command do, in their groups.
func writeCommands(b *bytes.Buffer, c *cobra.Command) {
	begun, groups := false, append(c.Groups(), &cobra.Group{Title: "Others:"})
	for _, g := range groups {
		under := false
		for _, sub := range c.Commands() {
			if !sub.IsAvailableCommand() || sub.GroupID != g.ID {
				continue
			}
			if !begun {
				b.WriteString(".SH COMMANDS\n")
			}
			if !under && len(groups) > 1 {
				fmt.Fprintf(b, ".SS %s\n", escape(strings.TrimSuffix(g.Title, ":")))
			}
			begun, under = true, true
			fmt.Fprintf(b, ".TP\n\\fB%s\\fP\n%s\n", escape(sub.Use), lines(sub.Short))
		}
	}
}

func writeFlags(b *bytes.Buffer, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		head := "\\fB\\-\\-" + escape(f.Name) + "\\fP"
		if f.Shorthand != "" {
			head = "\\fB\\-" + escape(f.Shorthand) + "\\fP, " + head
		}
		value, usage := pflag.UnquoteUsage(f)
		if value != "" {
			head += " \\fI" + escape(value) + "\\fP"
		}
		if value != "" && f.DefValue != "" && f.DefValue != "[]" && f.DefValue != "0" && f.DefValue != "0s" {
			usage += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(b, ".TP\n%s\n%s\n", head, lines(usage))
	})
}

var escapes = strings.NewReplacer(`\`, `\e`, "-", `\-`)

// escape returns a text that means itself within a line.
func escape(text string) string { return escapes.Replace(text) }

// lines returns lines that mean themselves: none is a request.
func lines(text string) string {
	all := strings.Split(strings.Trim(text, "\n"), "\n")
	for i, line := range all {
		if line = escape(line); strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			line = `\&` + line
		}
		all[i] = line
	}
	return strings.Join(all, "\n")
}
