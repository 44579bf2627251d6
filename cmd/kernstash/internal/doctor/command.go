package doctor

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/compile"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/launch"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/loaded"
	"github.com/kernstash/kernstash/internal/runlog"
)

// RunCommand runs a command as `kernstash run` does, and says which compilers it loaded and
// started, which of them are served, and what it waited for in each.
func RunCommand(ctx context.Context, a *cli.App, command []string) error {
	r := &Report{OK: true}
	if err := r.watch(ctx, a, command); err != nil {
		return fmt.Errorf("doctor: %w", err)
	}
	return a.Report(r, true, func() { writeFindings(a, r) })
}

// servedInOneLine names the compilers that 'kernstash run' serves, and the others.
func servedInOneLine(all []*used) string {
	found := make(map[bool][]string)
	for _, u := range all {
		if is := u.served(); !slices.Contains(found[is], u.name) {
			found[is] = append(found[is], u.name)
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

// watch runs a command with our descriptors. With JSON standard output is ours: the command's
// goes to standard error.
func (r *Report) watch(ctx context.Context, a *cli.App, command []string) error {
	dir, err := os.MkdirTemp("", "kernstash-doctor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file, err := exec.LookPath(command[0])
	if err != nil {
		return err
	}
	out := os.Stdout
	if a.JSON {
		out = os.Stderr
	}
	o := &launch.Options{Global: a.Global, Inject: launch.InjectAuto}
	ran, warnings, err := launch.Watch(o, command, loaded.Variables(dir), out)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	}
	got, err := loaded.Read(dir)
	if err != nil {
		return err
	}
	all := usedOf(got, ran.Uses)
	r.Uses, r.Millis, r.WaitedMS = ran.Uses, ran.Millis, ran.SpentMS
	r.Verdict = servedInOneLine(all)
	if ran.Outcomes.Asked > 0 {
		r.Verdict += "; " + share(ran.Spent, time.Duration(ran.Millis*float64(time.Millisecond)))
	}
	for _, u := range all {
		u.tell(r)
	}
	subject := "command " + strings.Join(command, " ")
	if ran.Status != 0 {
		how := fmt.Sprintf("exit status %d", ran.Status)
		if ran.Signal != "" {
			how = ran.Signal
		}
		r.Add(subject, tool.Warn, "what it would have loaded later is not in this report", "it failed: %s", how)
	}
	switch {
	case len(got.Programs) == 0:
		r.Add(subject, tool.Warn, "the cache cannot get into such a program", "%s", launch.Look(file).Unseen())
	case len(all) == 0:
		var names []string
		for _, p := range got.Programs {
			names = append(names, filepath.Base(p.Path))
		}
		r.Add(subject, tool.Info, "", "no run-time compiler that we know of was loaded by %s", strings.Join(names, ", "))
	}
	for _, w := range warnings {
		r.Add("kernstash", tool.Warn, "", "%s", w)
	}
	if ran.Warning != "" {
		r.Add("kernstash", tool.Warn, "", "%s", ran.Warning)
	}
	return nil
}

// used is a compiler that was loaded, or started, and what was asked of it.
type used struct {
	tool.Compiler
	name string
	text string       // where it is
	uses []runlog.Use // none: it is not served, or nothing was asked
}

// usedOf returns what was loaded or asked, that which took longest first.
func usedOf(got *loaded.Report, uses []runlog.Use) (all []*used) {
	told := make(map[string]bool)
	for _, o := range slices.Concat(got.Libraries, got.Programs) {
		c, ok := compilerOf(o.Path)
		if !ok {
			continue
		}
		u := &used{Compiler: c, name: c.Name, text: o.Path}
		u.Text += loaderText(c, o.Path)
		if len(o.By) > 0 {
			u.text += ", loaded by " + strings.Join(o.By, ", ")
		}
		for _, use := range uses {
			of := c.FrontEnd != "" && strings.HasPrefix(use.What, c.FrontEnd) || use.What == filepath.Base(o.Path)
			if of && !told[use.What] {
				told[use.What] = true
				u.uses = append(u.uses, use)
			}
		}
		all = append(all, u)
	}
	for _, use := range uses { // of what was not seen, as a program that was not started
		if !told[use.What] {
			c, _ := compilerOf(use.What)
			all = append(all, &used{Compiler: c, name: cmp.Or(c.Name, use.What), text: use.What, uses: []runlog.Use{use}})
		}
	}
	slices.SortStableFunc(all, func(a, b *used) int { return cmp.Compare(b.spent(), a.spent()) })
	return all
}

func (u *used) spent() (d time.Duration) {
	for _, use := range u.uses {
		d += use.Spent
	}
	return d
}

// served reports whether the cache is asked for what the compiler compiles: it is, or the table says so.
func (u *used) served() bool {
	return u.Served || slices.ContainsFunc(u.uses, func(use runlog.Use) bool { return use.Asked > use.Passed })
}

// tell adds what is to be said of it.
func (u *used) tell(r *Report) {
	verdict, advice := tool.Info, u.Text
	if u.served() {
		verdict = tool.OK
		if !u.Served { // the table does not know better
			advice = tool.ServedByRun
		}
	}
	for _, use := range u.uses {
		if advice != "" {
			advice += "; "
		}
		advice += asked(use)
	}
	if len(u.uses) == 0 && u.FrontEnd != "" {
		advice += "; it compiled nothing that the cache was asked for"
	}
	r.Add(u.name, verdict, advice, "%s", u.text)
}

// asked says how often a front end was asked, and what came of it.
func asked(use runlog.Use) string {
	text := "asked for " + human.Plural(use.Asked, "program")
	if use.Spent > 0 {
		text += " in " + human.Time(use.Spent)
	}
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{
		{use.Memory + use.Disk, "found"},
		{use.Compiled, "compiled"},
		{use.Passed, "passed by"},
		{use.Failed, "refused by the compiler"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	text += ": " + strings.Join(parts, ", ")
	if len(use.Why) > 0 {
		text += " (" + launch.Reasons(use.Why) + ")"
	}
	return text
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

// others are compilers of no runtime that is served. Not here: libnvptxcompiler_static and
// nvrtc_static, which are linked into programs, and the compiler in a driver's own library.
var others = []tool.Compiler{
	{Files: []string{"libtriton.so"}, Name: "Triton", Text: "served by 'kernstash run --triton'; else it keeps its own cache (TRITON_CACHE_DIR)"},
	{
		Files: []string{"libcute_dsl_runtime.so"}, Name: "CuTe DSL (CUTLASS)",
		Text: "not served: it compiles in the process, by MLIR, and keeps its own cache (CUTE_DSL_CACHE_DIR)",
	},
	{
		Files: []string{"cicc", "tileiras", "hipcc", "ocloc", "dpcpp", "icpx"}, Name: "compiler, as a program",
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

// share says how much of a command's time its processes and threads, which may run at once, spent on what is served.
func share(spent, all time.Duration) string {
	if spent > all {
		return fmt.Sprintf("%s were spent on what it serves, by several at once, in %s", human.Time(spent), human.Time(all))
	}
	return fmt.Sprintf("%s of %s were spent on what it serves", human.Time(spent), human.Time(all))
}
