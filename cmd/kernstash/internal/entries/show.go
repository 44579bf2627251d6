package entries

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/builder"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/disassembly"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/terminal"
	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// showReport is what `show --json` writes.
type showReport struct {
	EntryReport
	KeyParts  key.Key         `json:"key_parts"`
	Recipe    *recipeReport   `json:"recipe,omitempty"`
	Artifact  *artifactReport `json:"artifact,omitempty"`
	RecipeErr string          `json:"recipe_error,omitempty"`

	Reproduce       string `json:"reproduce,omitempty"` // commands
	NotReproducible string `json:"not_reproducible,omitempty"`

	Disassembly []disassembly.Listing `json:"disassembly,omitempty"`
}

type recipeReport struct {
	Device    key.Device       `json:"device"`
	Units     []unitReport     `json:"units"`
	Constants key.Constants    `json:"constants,omitempty"`
	Options   key.BuildOptions `json:"options"`
	Program   *rtc.Request     `json:"program,omitempty"` // of NVRTC and HIPRTC
	Lookup    *lookupReport    `json:"lookup,omitempty"`  // of the C library
}

type unitReport struct {
	Kind    key.Kind       `json:"kind"`
	Bytes   int            `json:"bytes"`
	Headers []headerReport `json:"headers,omitempty"`
	Files   []fileReport   `json:"files,omitempty"`
	Dir     string         `json:"dir,omitempty"` // working directory, where paths are in the key
	Source  string         `json:"source,omitempty"`
}

type headerReport struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
}

// fileReport is a header file that was read.
type fileReport struct {
	Path   string     `json:"path"`
	Bytes  int64      `json:"bytes"`
	Digest key.Digest `json:"digest"`
	Kept   bool       `json:"kept"` // its content is in the cache
}

type artifactReport struct {
	Binaries []binaryReport `json:"binaries"`
	Log      string         `json:"log,omitempty"`
	Kernels  []store.Kernel `json:"kernels"`
	Variants []string       `json:"variants,omitempty"`

	// Of NVRTC and HIPRTC: the forms of code in the binary, and what name expressions
	// are lowered to.
	Outputs []binaryReport    `json:"outputs,omitempty"`
	Lowered map[string]string `json:"lowered,omitempty"`
	output  *rtc.Output
}

type binaryReport struct {
	Form  string `json:"form"`
	Bytes int    `json:"bytes"`
}

// ShowOptions are those of show.
type ShowOptions struct {
	Source      bool // print the code that it was built from, nothing else
	Disassemble bool // print what its machine code is
	Verbose     bool // print build ids of compilers
}

// Show shows the entry whose key begins with prefix.
func Show(ctx context.Context, c cli.Cache, prefix string, o ShowOptions) error {
	info, err := Find(ctx, c.Disk, prefix)
	if err != nil {
		return err
	}
	recipe, recipeErr := c.Disk.Recipe(ctx, info.Key)
	if o.Source {
		if recipeErr != nil {
			return fmt.Errorf("source of %s: %w", info.Key.Short(), recipeErr)
		}
		return writeSource(c.App, recipe)
	}
	r, art, err := reportShown(ctx, c.Disk, &info, recipe, recipeErr, c.JSON)
	if err != nil {
		return err
	}
	if !o.Disassemble {
		return c.Report(r, info.Bad == nil, func() { writeShown(c.App, info, r, o.Verbose) })
	}
	if art == nil {
		return fmt.Errorf("disassemble %s: %w", info.Key.Short(), info.Bad)
	}
	if r.Disassembly, err = disassemble(ctx, art, r.Artifact.output); err != nil {
		return err
	}
	return c.Report(r, info.Bad == nil, func() {
		for _, l := range r.Disassembly {
			of := l.Of
			if l.Tool != "" {
				of += ", by " + l.Tool
			}
			c.Printf("%s\n%s\n", human.Printable(of, false), human.Printable(l.Text, true))
			if l.Cut {
				c.Printf("and more\n")
			}
		}
	})
}

// reportShown reads an entry; where that is damaged info says so afterwards, and there is no artifact.
func reportShown(ctx context.Context, d *disk.Store, info *store.Info, recipe *key.Recipe, recipeErr error, source bool) (r showReport, art *store.Artifact, err error) {
	entry, err := d.Get(ctx, info.Key)
	if _, miss := errors.AsType[*store.MissError](err); err != nil && !miss {
		return r, nil, fmt.Errorf("show %s: %w", info.Key.Short(), err)
	}
	if err != nil && info.Bad == nil {
		info.Bad = err
	}
	r = showReport{EntryReport: ReportEntry(*info), KeyParts: info.Key}
	pins, pinsErr := d.Pins(ctx)
	if pinsErr != nil {
		return r, nil, pinsErr
	}
	r.Pinned = IsPinned(pins, *info)
	if err == nil {
		art = entry.Artifact
		r.Artifact = reportArtifact(info.Device, art)
	}
	if recipeErr != nil {
		r.RecipeErr = recipeErr.Error()
		return r, art, nil
	}
	r.Recipe = reportRecipe(d, recipe, source)
	of := art
	if of == nil {
		of = new(store.Artifact)
	}
	var why error
	if r.Reproduce, why = builder.Reproduce(info.Key, recipe, of); why != nil {
		r.NotReproducible = why.Error()
	}
	return r, art, nil
}

// disassemble disassembles what an artifact has of code. What is none is left out, unless all of it is.
func disassemble(ctx context.Context, art *store.Artifact, output *rtc.Output) (all []disassembly.Listing, err error) {
	var none error
	for name, code := range codes(art, output) {
		of, err := disassembly.Of(ctx, name, code)
		if errors.Is(err, disassembly.ErrNoCode) {
			none = cmp.Or(none, err)
		} else if err != nil {
			return nil, err
		}
		all = append(all, of...)
	}
	if len(all) == 0 {
		return nil, none
	}
	return all, nil
}

// codes returns the binaries of an artifact, or the forms of code in an output, by their names.
func codes(art *store.Artifact, output *rtc.Output) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		if output == nil {
			for _, b := range art.Binaries {
				if !yield(b.Form.String(), b.Data) {
					return
				}
			}
			return
		}
		for f := range rtc.Forms() {
			if code, ok := output.Get(f); ok && !yield(f.String(), code) {
				return
			}
		}
	}
}

// Described is what 'kernstash show' says of an entry.
type Described struct {
	Lines []DescribedLine
	Log   string // of the build
}

// DescribedLine is a line of it.
type DescribedLine struct{ Name, Value string }

// Describe returns what there is to say of an entry.
func Describe(ctx context.Context, d *disk.Store, info store.Info) (all Described, err error) {
	recipe, recipeErr := d.Recipe(ctx, info.Key)
	r, _, err := reportShown(ctx, d, &info, recipe, recipeErr, false)
	if err != nil {
		return all, err
	}
	describe(func(name, format string, args ...any) {
		all.Lines = append(all.Lines, DescribedLine{name, human.Printable(fmt.Sprintf(format, args...), false)})
	}, info, r, true)
	if r.Artifact != nil {
		all.Log = human.Printable(strings.TrimSpace(r.Artifact.Log), true)
	}
	return all, nil
}

func reportRecipe(d *disk.Store, r *key.Recipe, source bool) *recipeReport {
	out := &recipeReport{Device: r.Device, Constants: r.Constants, Options: r.Options, Lookup: lookupOf(r)}
	if q, err := rtc.FromRecipe(r); err == nil && rtc.IsAPI(r.Device.API) {
		q.Options = append([]string{}, q.Options...) // of none, too: null is no list in JSON
		out.Program = &q
	}
	for _, u := range r.Image.Units() {
		unit := unitReport{Kind: u.Kind, Bytes: len(u.Code), Dir: u.Dir}
		if source && isText(u.Kind) {
			unit.Source = string(u.Code)
		}
		for _, h := range u.Headers {
			unit.Headers = append(unit.Headers, headerReport{h.Name, len(h.Content)})
		}
		for _, f := range u.Files {
			unit.Files = append(unit.Files, fileReport{f.Path, f.Size, f.Digest, d.HasBlob(store.Headers, f.Digest, f.Size)})
		}
		out.Units = append(out.Units, unit)
	}
	return out
}

func reportArtifact(device key.Device, art *store.Artifact) *artifactReport {
	out := &artifactReport{Log: art.Log, Variants: art.Variants}
	if o, err := rtc.FromArtifact(art, ""); err == nil && rtc.IsAPI(device.API) {
		out.output, out.Lowered = o, make(map[string]string)
		for f := range rtc.Forms() {
			if code, ok := o.Get(f); ok {
				out.Outputs = append(out.Outputs, binaryReport{f.String(), len(code)})
			}
		}
		for _, l := range o.LoweredNames() {
			out.Lowered[l.Expression] = l.Name
		}
	}
	for _, k := range art.Kernels {
		k.Args = append([]store.Arg{}, k.Args...) // of none, too: null is no list in JSON
		out.Kernels = append(out.Kernels, k)
	}
	for _, b := range art.Binaries {
		out.Binaries = append(out.Binaries, binaryReport{b.Form.String(), len(b.Data)})
	}
	return out
}

func isText(k key.Kind) bool { return k != key.SPIRV && k != key.Opaque }

// writeSource prints the code as it is: it may be piped into a compiler. A
// terminal gets none of its control characters.
func writeSource(a *cli.App, r *key.Recipe) error {
	units := r.Image.Units()
	for i, u := range units {
		if len(units) > 1 && isText(u.Kind) {
			a.Printf("// unit %d of %d, %v\n", i+1, len(units), u.Kind)
		}
		code := u.Code
		if terminal.IsTerminal(a.Stream) {
			code = []byte(human.Printable(string(code), true))
		}
		if _, err := a.Out.Write(code); err != nil {
			return err
		}
	}
	return nil
}

// writeShown prints an entry for people.
func writeShown(a *cli.App, info store.Info, r showReport, verbose bool) {
	width := a.Terminal().Lines
	describe(func(name, format string, args ...any) {
		head, text := fmt.Sprintf("%-10s ", name), human.Printable(fmt.Sprintf(format, args...), false)
		switch name {
		case "device", "", "compiler", "kernel": // others are paths, digests and commands, which people copy
			a.Printf("%s", human.WrapBehind(head, text, len(head), width))
		default:
			a.Printf("%s%s\n", head, text)
		}
	}, info, r, verbose)
	if r.Artifact == nil {
		return
	}
	if log := strings.TrimSpace(r.Artifact.Log); log != "" {
		a.Printf("log\n")
		for text := range strings.SplitSeq(log, "\n") {
			a.Printf("  %s\n", human.Printable(text, true))
		}
	}
}

// describe tells of an entry, line by line.
func describe(line func(name, format string, args ...any), info store.Info, r showReport, verbose bool) {
	now := time.Now()
	line("key", "%s", info.Key)
	if info.Bad != nil {
		line("cannot hit", "%v", info.Bad)
	}
	if r.Recipe != nil {
		r.Recipe.write(line, verbose)
	} else {
		line("recipe", "lost: %s", r.RecipeErr)
	}
	line("cost", "%s to build", human.Time(info.Cost))
	line("created", "%s, %s", info.Created.Local().Format(time.DateTime), human.Age(info.Created, now))
	line("used", "%s, %s", info.Accessed.Local().Format(time.DateTime), human.Age(info.Accessed, now))
	line("size", "%s on disk, recipe included", human.Size(info.Size))
	line("place", "%s", info.Location)
	if r.Pinned {
		line("pinned", "until 'kernstash unpin %s'", info.Key.Short())
	}
	switch {
	case r.Reproduce != "":
		line("reproduce", "%s", r.Reproduce)
	case r.NotReproducible != "":
		line("reproduce", "'kernstash build' cannot: %s", r.NotReproducible)
	}
	if r.Artifact == nil {
		return
	}
	if r.Artifact.output != nil {
		r.Artifact.writeOutput(line)
	} else {
		for _, b := range r.Artifact.Binaries {
			line("binary", "%s, %s", human.Size(int64(b.Bytes)), b.Form)
		}
	}
	for _, v := range r.Artifact.Variants {
		line("ready for", "%s", v)
	}
	rt := runtimes.Named(info.Device.API)
	tells := rt != nil && rt.Arguments
	for _, k := range r.Artifact.Kernels {
		line("kernel", "%s", kernelText(k, tells))
	}
}

func (r *recipeReport) write(line func(string, string, ...any), verbose bool) {
	line("device", "%s", DeviceText(r.Device))
	pairs := func(name, format string, pairs []key.Pair) {
		for _, p := range slices.Compact(slices.Clone(pairs)) {
			if r.Program == nil || p.Name != rtc.NameAttribute { // which the program has
				line(name, format, p.Name, p.Value)
			}
		}
	}
	pairs("", "%s = %s", r.Device.Traits)
	if verbose {
		pairs("compiler", "%s = %s", r.Device.Compiler)
	} else if len(r.Device.Compiler) > 0 {
		names := make([]string, len(r.Device.Compiler))
		for i, p := range r.Device.Compiler {
			names[i] = p.Name
		}
		line("compiler", "%s", strings.Join(names, ", "))
	}
	for _, u := range r.Units {
		line("code", "%s, %s", u.Kind, human.Size(int64(u.Bytes)))
		for _, h := range u.Headers {
			line("header", "%s, %s", h.Name, human.Size(int64(h.Bytes)))
		}
		for _, f := range u.Files {
			line("file", "%s, %s, %s", f.Path, human.Size(f.Bytes), f.Digest)
		}
		if u.Dir != "" {
			line("in", "%s, since its code depends on paths", u.Dir)
		}
	}
	if r.Lookup != nil {
		writeLookup(line, r.Lookup)
	}
	switch {
	case r.Program != nil:
		line("name", "%s", cmp.Or(r.Program.Name, "none"))
		line("options", "%s", cmp.Or(strings.Trim(fmt.Sprintf("%q", r.Program.Options), "[]"), "none"))
	case r.Options.Absent:
		line("options", "none at all")
	case r.Device.API == "compiler": // of which they are attributes, one by one
	default:
		line("options", "%q", r.Options.CompileString())
	}
	if len(r.Options.Link) > 0 && r.Program == nil {
		line("link", "%q", r.Options.LinkString())
	}
	pairs("variable", "%s=%s", r.Options.Variables)
	pairs("attribute", "%s=%s", r.Options.Attributes)
	pairs("unkeyed", "%s=%s", r.Options.Unkeyed)
	for _, c := range r.Constants {
		line("constant", "%d = %x", c.ID, c.Value)
	}
}

// kernelText returns a kernel, with its arguments if the runtime tells them.
func kernelText(k store.Kernel, tells bool) string {
	args := make([]string, len(k.Args))
	for i, arg := range k.Args {
		args[i] = strings.TrimSpace(arg.TypeName + " " + arg.Name)
	}
	text := KernelName(k.Name)
	if len(args) > 0 || tells {
		text += "(" + strings.Join(args, ", ") + ")"
	}
	if k.Attributes != "" {
		text += " " + k.Attributes
	}
	return text
}

// writeOutput prints what a library made.
func (r *artifactReport) writeOutput(line func(string, string, ...any)) {
	for _, f := range r.Outputs {
		line("output", "%s, %s", f.Form, human.Size(int64(f.Bytes)))
	}
	for _, l := range r.output.LoweredNames() {
		if l.Code == 0 {
			line("lowered", "%s is %s", l.Expression, l.Name)
		} else {
			line("lowered", "%s is nothing: code %d", l.Expression, l.Code)
		}
	}
}
