package manual_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/manual"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	run := func(*cobra.Command, []string) {}
	root := &cobra.Command{Use: "tool", Short: "A tool", Long: "A tool."}
	root.PersistentFlags().Bool("json", false, "write JSON")
	sub := &cobra.Command{
		Use: "go FILE", Short: "Go - or \\not", Run: run,
		Long: "First line\n.hidden is a file.\n\n'Quoted.'\nA list:\n  a  b\n  c\n\nEXIT STATUS\n  0  good\n", Example: "  tool go .x\n",
	}
	sub.Flags().StringP("file", "f", "a-b", "the `NAME` of a file")
	sub.Flags().Int("n", 0, "a number")
	sub.Flags().Bool("secret", false, "")
	if err := sub.Flags().MarkHidden("secret"); err != nil {
		t.Fatal(err)
	}
	root.AddCommand(sub, &cobra.Command{Use: "child", Hidden: true, Run: run})
	dir := t.TempDir()
	root.AddGroup(&cobra.Group{ID: "a", Title: "Go places:"})
	sub.GroupID = "a"
	root.AddCommand(&cobra.Command{Use: "rest", Short: "'Rest'", Run: run})
	sections := []manual.Section{{Title: "FILES", Items: [][2]string{{"/etc/a-b", ".x, each"}}}}
	if err := manual.Write(root, dir, time.Date(2026, 11, 3, 0, 0, 0, 0, time.UTC), sections); err != nil {
		t.Fatal(err)
	}
	const wantRoot = `.TH "TOOL" "1" "Nov 2026" "kernstash" "kernstash manual"
.nh
.SH NAME
tool \- A tool
.SH SYNOPSIS
\fBtool [flags]\fP
.SH DESCRIPTION
A tool.
.SH COMMANDS
.SS Go places
.TP
\fBgo FILE\fP
Go \- or \enot
.SS Others
.TP
\fBrest\fP
\&'Rest'
.SH OPTIONS
.TP
\fB\-h\fP, \fB\-\-help\fP
help for tool
.TP
\fB\-\-json\fP
write JSON
.SH FILES
.TP
\fB/etc/a\-b\fP
\&.x, each
.SH SEE ALSO
\fBtool\-go\fP(1),
\fBtool\-rest\fP(1)
`
	page, err := os.ReadFile(filepath.Join(dir, "tool.1"))
	if d := cmp.Diff(wantRoot, string(page)); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	const want = `.TH "TOOL-GO" "1" "Nov 2026" "kernstash" "kernstash manual"
.nh
.SH NAME
tool\-go \- Go \- or \enot
.SH SYNOPSIS
\fBtool go FILE [flags]\fP
.SH DESCRIPTION
First line
\&.hidden is a file.
.PP
\&'Quoted.'
A list:
.EX
  a  b
  c
.EE
.SH EXIT STATUS
.EX
  0  good
.EE
.SH OPTIONS
.TP
\fB\-f\fP, \fB\-\-file\fP \fINAME\fP
the NAME of a file (default a\-b)
.TP
\fB\-h\fP, \fB\-\-help\fP
help for go
.TP
\fB\-\-n\fP \fIint\fP
a number
.SH OPTIONS OF ALL COMMANDS
.TP
\fB\-\-json\fP
write JSON
.SH FILES
See \fBtool\fP(1).
.SH EXAMPLE
.EX
  tool go .x
.EE
.SH SEE ALSO
\fBtool\fP(1)
`
	got, err := os.ReadFile(filepath.Join(dir, "tool-go.1"))
	if d := cmp.Diff(want, string(got)); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	if _, err := os.Stat(filepath.Join(dir, "tool-child.1")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a hidden command has a page: %v", err)
	}
	if err := manual.Write(root, filepath.Join(dir, "none"), time.Now(), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("into no directory: %v", err)
	}
}
