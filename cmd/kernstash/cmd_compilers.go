package main

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/compile"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/compilers"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/launch"
	"github.com/kernstash/kernstash/internal/human"
)

func compilersCommand(a *cli.App) *cobra.Command {
	var links string
	cmd := &cobra.Command{
		Use:   "compilers",
		Short: "List the compilers that are programs, and how they are served",
		Long: `List what is found of the compilers that are programs (` + strings.Join(compile.Names(), ", ") + `): in PATH;
by the variables that name one (` + strings.Join(compile.Variables[:3], ", ") + `,
` + strings.Join(compile.Variables[3:], ", ") + `); in bin below ` + strings.Join(compile.Homes, " and ") + `; in
` + strings.Join(compile.Directories, " and ") + `; in the packages of the Python in PATH, and of an
environment that is active. Each is asked for its version; Python is not started.

The last column says how a run of it comes to the cache: as 'kernstash run' starts
it (run), by a link of its name that comes first in PATH (link), through a variable
that begins with 'kernstash compile' (variable); or why it does not.

With --links DIR, links of their names are made there that lead to the command, for
programs that nothing can be preloaded into. Called by such a name the command runs
the next compiler of that name in PATH with the cache, so DIR is to come first. None is
made for nvcc, whose place in PATH tells programs where its libraries are.` +
			exits("listed, or linked", "none was found, or a link cannot be made"),
		Example: `  kernstash compilers
  kernstash compilers --json
  kernstash compilers --links ~/.local/lib/kernstash/compilers`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("links") {
				return linkCompilers(a, links)
			}
			return listCompilers(cmd.Context(), a)
		},
	}
	cmd.Flags().StringVar(&links, "links", "", "make links in `DIR` instead")
	return cmd
}

func linkCompilers(a *cli.App, dir string) error {
	if dir == "" {
		return cli.Usagef("--links: the value is empty")
	}
	made, err := compilers.Link(dir)
	if err != nil {
		return err
	}
	return a.Report(made, true, func() {
		for _, path := range made {
			a.Printf("%s\n", path)
		}
	})
}

func listCompilers(ctx context.Context, a *cli.App) error {
	s, err := a.Settings()
	if err != nil {
		return err
	}
	libraries, err := launch.Find()
	found := compilers.Find(ctx, s, err == nil && libraries.Preload != "")
	if found == nil {
		found = []*compilers.Compiler{}
	}
	err = a.Report(found, len(found) > 0, func() {
		var rows [][]string
		for _, c := range found {
			row := []string{
				c.Name, cmp.Or(c.Version, "-"), c.Path, strings.Join(c.Found, ", "), cmp.Or(strings.Join(c.Reached, ", "), "not served: "+c.Why),
			}
			for i, cell := range row {
				row[i] = human.Printable(cell, false)
			}
			rows = append(rows, row)
		}
		if len(rows) > 0 {
			_ = a.Terminal().WriteTable(a.Out, []string{"NAME", "VERSION", "PATH", "FOUND", "SERVED"}, rows) // what is wrong with Out its flush says
		}
	})
	if errors.Is(err, cli.ErrFound) && !a.JSON {
		return errors.New("compilers: none was found")
	}
	return err
}
