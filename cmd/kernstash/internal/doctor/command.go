package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/compile"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/launch"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/internal/loaded"
)

// RunCommand runs a command, without the cache, and says which run-time compilers it loaded.
func RunCommand(ctx context.Context, a *cli.App, command []string) error {
	r := &Report{OK: true}
	if err := r.watch(ctx, command, a.JSON); err != nil {
		return fmt.Errorf("doctor: %w", err)
	}
	r.Verdict = r.servedInOneLine()
	return a.Report(r, true, func() { writeFindings(a, r) })
}

// servedInOneLine names the compilers that 'kernstash run' serves, and the others.
func (r *Report) servedInOneLine() string {
	found := make(map[bool][]string)
	for _, f := range r.Findings {
		is := f.Verdict == tool.OK
		if !strings.HasPrefix(f.Subject, "command ") && !slices.Contains(found[is], f.Subject) {
			found[is] = append(found[is], f.Subject)
		}
	}
	served, others := found[true], found[false]
	switch {
	case len(served)+len(others) == 0:
		return "nothing for 'kernstash run' to serve was loaded"
	case len(others) == 0:
		return "'kernstash run' serves all that was loaded: " + strings.Join(served, ", ")
	case len(served) == 0:
		return "'kernstash run' serves nothing of what was loaded: " + strings.Join(others, ", ")
	}
	return "'kernstash run' serves " + strings.Join(served, ", ") + "; not " + strings.Join(others, ", ")
}

// watch runs a command with our descriptors. aside keeps standard output for us:
// the command's goes to standard error.
func (r *Report) watch(ctx context.Context, command []string, aside bool) error {
	dir, err := os.MkdirTemp("", "kernstash-doctor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file, err := exec.LookPath(command[0])
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, file, command[1:]...)
	cmd.Args[0] = command[0]
	cmd.Env = append(os.Environ(), loaded.Variables(dir)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if aside {
		cmd.Stdout = os.Stderr
	}
	err = cmd.Run()
	subject := "command " + strings.Join(command, " ")
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &exit):
		r.Add(subject, tool.Warn, "what it would have loaded later is not in this report", "it failed: %v", err)
	case err != nil:
		return err
	}
	got, err := loaded.Read(dir)
	if err != nil {
		return err
	}
	if len(got.Programs) == 0 {
		r.Add(subject, tool.Warn, "the cache cannot get into such a program", "%s", launch.Look(file).Unseen())
		return nil
	}
	before := len(r.Findings)
	for _, o := range append(got.Libraries, got.Programs...) {
		c, ok := compilerOf(o.Path)
		if !ok {
			continue
		}
		text := o.Path
		if len(o.By) > 0 {
			text += ", loaded by " + strings.Join(o.By, ", ")
		}
		verdict := tool.OK
		if !c.Served {
			verdict = tool.Info
		}
		r.Add(c.Name, verdict, c.Text+loaderText(c, o.Path), "%s", text)
	}
	if len(r.Findings) == before {
		var names []string
		for _, p := range got.Programs {
			names = append(names, filepath.Base(p.Path))
		}
		r.Add(subject, tool.Info, "", "no run-time compiler that we know of was loaded by %s", strings.Join(names, ", "))
	}
	return nil
}

// loaderText says how the cache comes into programs that use a loader.
func loaderText(c tool.Compiler, path string) string {
	switch {
	case c.Layers == nil:
		return ""
	case c.Layers.Known(path):
		return ", as a layer of it"
	}
	return ", by preloading: it knows no layers"
}

// others are compilers of no runtime that is served.
var others = []tool.Compiler{
	{Files: []string{"libtriton.so"}, Name: "Triton", Text: "not served: it keeps its own cache (TRITON_CACHE_DIR)"},
	{
		Files: []string{"nvcc", "cicc", "hipcc", "ocloc", "dpcpp", "icpx"}, Name: "compiler, as a program",
		Text: "not served: ccache and sccache are for those",
	},
}

// compilerOf returns what a file is, by its name. Of several that fit the longest decides.
func compilerOf(path string) (c tool.Compiler, ok bool) {
	name, longest := filepath.Base(path), 0
	if slices.Contains(compile.Names(), name) {
		return tool.Compiler{Name: name + ", as a program", Served: true, Text: "served where it is started: see 'kernstash compilers'"}, true
	}
	all := others
	for _, rt := range runtimes.All {
		all = slices.Concat(all, rt.Compilers)
	}
	for _, known := range all {
		for _, f := range known.Files {
			// A program's name is whole, a library's goes on with its version.
			library := strings.Contains(f, ".so") || strings.Contains(f, "_") || strings.HasPrefix(f, "lib")
			if (name == f || library && strings.HasPrefix(name, f)) && len(f) > longest {
				c, longest, ok = known, len(f), true
			}
		}
	}
	return c, ok
}
