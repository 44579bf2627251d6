package launch

import (
	"slices"

	"github.com/spf13/pflag"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/internal/settings"
)

// Options are what flags say.
type Options struct {
	NoCache, ReadOnly, Refresh, Observe bool

	cli.Global // with JSON what is said is JSON

	MaxSize string
	Inject  string // auto, layer or preload

	NoPreload    bool // the interposers stay out
	NoCompilers  bool // those that are programs are started as ever
	Launchers    bool // build systems start theirs through the command
	NoFrameworks bool // no framework's own cache is switched on
	Triton       bool // our package manages Triton's cache

	Bundle string   // what is in it serves
	Trust  []string // files with keys, one of which has to have signed it

	Prefetch string // the application whose entries are fetched; OfCommand: the command; "": none are

	Quiet  bool
	Report bool   // in full
	File   string // gets all of the report, as JSON
	Trace  string // gets where the time went, as other tools read it

	ExpectWarm bool // who compiled is told so by the exit status
}

// BindSettings adds the flags that choose what the cache does.
func (o *Options) BindSettings(fs *pflag.FlagSet) {
	fs.BoolVar(&o.NoCache, "no-cache", false, "run as if there were no cache (KERNSTASH_DISABLE=1)")
	fs.BoolVar(&o.ReadOnly, "read-only", false, "read the cache, never write it (mode read-only)")
	fs.BoolVar(&o.Refresh, "refresh", false, "compile everything, and replace what is stored (mode refresh)")
	fs.BoolVar(&o.Observe, "observe", false, "compile everything, and compare it with what is stored (mode observe)")
	fs.StringVar(&o.MaxSize, "max-size", "", "limit of the cache on disk: a `SIZE` (setting max-size)")
	fs.StringVar(&o.Inject, "inject", InjectAuto, "the `WAY` that the layer gets into programs: auto, layer ("+runtimes.Layers().Variable+") or preload (LD_PRELOAD)")
	fs.BoolVar(&o.NoPreload, "no-preload", false, "preload nothing for runtimes that have no layers")
	fs.BoolVar(&o.NoCompilers, "no-compilers", false, "leave compilers that are programs alone (setting compilers)")
	fs.BoolVar(&o.Launchers, "launchers", false, "have new build trees of CMake, and FlashInfer, start nvcc through 'kernstash compile'")
	fs.BoolVar(&o.NoFrameworks, "no-frameworks", false, "switch no framework's own cache on (setting frameworks=none)")
}

// OfCommand stands for the name of the command as an application.
const OfCommand = "."

// BindRun adds the flags of `kernstash run` alone.
func (o *Options) BindRun(fs *pflag.FlagSet) {
	fs.BoolVar(&o.Triton, "triton", false, "have Triton use the cache, in Python that may import our package")
	fs.StringVar(&o.Bundle, "bundle", "", "restore this bundle, `FILE`, as 'kernstash bundle restore' does, and use it")
	fs.StringArrayVar(&o.Trust, "trust", nil, "`FILE` with public keys, one of which must have signed the bundle")
	fs.StringVar(&o.Prefetch, "prefetch", "", "fetch meanwhile what the application `NAME` uses, by agent or remote; without NAME that of the command")
	fs.Lookup("prefetch").NoOptDefVal = OfCommand
	fs.BoolVarP(&o.Quiet, "quiet", "q", false, "say nothing in the end")
	fs.BoolVar(&o.Report, "report", false, "say in full what was asked for")
	fs.StringVar(&o.File, "report-file", "", "write the whole report into `FILE`, as JSON")
	fs.StringVar(&o.Trace, "trace", "", "write where the time went into `FILE`, for Perfetto, chrome://tracing and speedscope")
	fs.BoolVar(&o.ExpectWarm, "expect-warm", false, "exit with 3 where anything was compiled, or nothing was asked of the cache")
}

// Chosen returns the settings that the flags choose, a settings file that they name included, in
// a fixed order: all values are checked, that of --inject too, and paths absolute. A value that
// makes no sense is a mistake on the command line.
func (o *Options) Chosen() ([]settings.Item, error) {
	if !slices.Contains(Injects, o.Inject) {
		return nil, cli.Usagef("--inject %s: want auto, layer or preload", o.Inject)
	}
	texts, err := o.FlagTexts()
	if err != nil {
		return nil, err
	}
	if o.MaxSize != "" {
		texts["max-size"] = o.MaxSize
	}
	if o.NoCompilers {
		texts["compilers"] = "0"
	}
	if o.NoFrameworks {
		texts["frameworks"] = settings.FrameworksNone
	}
	chosen := ""
	for _, f := range []struct {
		on                bool
		flag, name, value string
	}{
		{o.ReadOnly, "read-only", "mode", settings.ModeReadOnly},
		{o.Refresh, "refresh", "mode", settings.ModeRefresh},
		{o.Observe, "observe", "mode", settings.ModeObserve},
		{o.NoCache, "no-cache", "disable", "1"},
	} {
		switch {
		case !f.on:
		case chosen != "":
			return nil, cli.Usagef("--%s and --%s: choose one", chosen, f.flag)
		default:
			chosen = f.flag
			texts[f.name] = f.value
		}
	}
	if len(texts) == 0 && o.Config == "" {
		return nil, nil
	}
	s, err := settings.Load(settings.Inputs{Environ: []string{}, ConfigFile: o.Config, Flags: texts})
	if err != nil {
		return nil, cli.Usage(err)
	}
	return slices.DeleteFunc(s.All(), func(item settings.Item) bool {
		return item.Origin.Source != settings.Flag && item.Origin.Source != settings.File
	}), nil
}

// Variables returns them as variables.
func (o *Options) Variables() (all []Variable, err error) {
	chosen, err := o.Chosen()
	for _, item := range chosen {
		all = append(all, Variable{item.Variable, item.Value})
	}
	return all, err
}

// CheckFlags refuses flags that are there and empty, as what they mean when they are not
// there is something else, and those whose value is the -- that ends the flags.
func CheckFlags(fs *pflag.FlagSet) (err error) {
	fs.Visit(func(f *pflag.Flag) {
		switch {
		case err != nil || f.Value.Type() != "string":
		case f.Value.String() == "--":
			err = cli.Usagef("--%s: the value is missing", f.Name)
		case f.Value.String() == "" && slices.Contains(nonempty, f.Name):
			err = cli.Usagef("--%s: the value is empty", f.Name)
		}
	})
	return err
}

// nonempty are the flags that want a text: clear --dir "$UNSET" must not clear the user's cache.
var nonempty = []string{"dir", "config", "max-size", "max-age", "report-file", "trace", "bundle", "keys", "as", "app", "prefetch"}
