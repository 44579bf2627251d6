package launch

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/settings"
)

// Options are what flags say.
type Options struct {
	NoCache, ReadOnly, Refresh, Observe bool

	Dir     string
	MaxSize string
	Set     []string // name=value
	Config  string   // settings file

	Door string // auto, layer or preload

	NoPreload bool // the interposers stay out

	Quiet  bool
	Report bool   // in full
	JSON   bool   // what is said is JSON
	File   string // gets all of the report, as JSON
}

// BindSettings adds the flags that choose what the cache does.
func (o *Options) BindSettings(fs *pflag.FlagSet) {
	fs.BoolVar(&o.NoCache, "no-cache", false, "run as if there were no cache (KERNSTASH_DISABLE=1)")
	fs.BoolVar(&o.ReadOnly, "read-only", false, "read the cache, never write it (mode read-only)")
	fs.BoolVar(&o.Refresh, "refresh", false, "compile everything, and replace what is stored (mode refresh)")
	fs.BoolVar(&o.Observe, "observe", false, "compile everything, and compare it with what is stored (mode observe)")
	fs.StringVar(&o.MaxSize, "max-size", "", "limit of the cache on disk (setting max-size)")
	fs.StringVar(&o.Door, "door", DoorAuto, "how the layer gets into programs: auto, layer ("+LayersVariable+") or preload (LD_PRELOAD)")
	fs.BoolVar(&o.NoPreload, "no-preload", false, "preload nothing for runtimes that have no layers")
}

// BindRun adds the flags of `kernstash run` alone.
func (o *Options) BindRun(fs *pflag.FlagSet) {
	fs.BoolVarP(&o.Quiet, "quiet", "q", false, "say nothing in the end")
	fs.BoolVar(&o.Report, "report", false, "say in full what was asked for")
	fs.StringVar(&o.File, "report-file", "", "write the whole report into `FILE`, as JSON")
}

// BindGlobal adds the flags that the whole command has for all its commands.
func (o *Options) BindGlobal(fs *pflag.FlagSet) {
	fs.StringVar(&o.Dir, "dir", "", "root of the cache (setting dir)")
	fs.StringVar(&o.Config, "config", "", "settings file to read instead of the user's")
	fs.StringArrayVar(&o.Set, "set", nil, "a setting, as NAME=VALUE")
	fs.BoolVar(&o.JSON, "json", false, "write JSON, for machines")
}

// mode returns the setting that the flags choose, "" for none.
func (o *Options) mode() (string, error) {
	chosen := ""
	for _, m := range []struct {
		on   bool
		mode string
	}{{o.ReadOnly, settings.ModeReadOnly}, {o.Refresh, settings.ModeRefresh}, {o.Observe, settings.ModeObserve}, {o.NoCache, "no-cache"}} {
		if !m.on {
			continue
		}
		if chosen != "" {
			return "", cli.Usagef("--%s and --%s: choose one", chosen, m.mode)
		}
		chosen = m.mode
	}
	if chosen == "no-cache" {
		return "", nil
	}
	return chosen, nil
}

// texts returns the settings that the flags choose, by their names.
func (o *Options) texts() (map[string]string, error) {
	texts := make(map[string]string)
	for _, s := range o.Set {
		name, value, ok := strings.Cut(s, "=")
		if !ok {
			return nil, cli.Usagef("--set %s: want NAME=VALUE", s)
		}
		texts[name] = value
	}
	mode, err := o.mode()
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{"dir": o.Dir, "max-size": o.MaxSize, "mode": mode} {
		if value != "" {
			texts[name] = value
		}
	}
	if o.NoCache {
		texts["disable"] = "1"
	}
	return texts, nil
}

// Variables returns the settings that the flags choose as variables, in a fixed
// order: all values are checked, and paths absolute. A value that makes no
// sense is a mistake on the command line. A settings file is one of the flags where it is named.
func (o *Options) Variables() ([]Variable, error) {
	texts, err := o.texts()
	if err != nil {
		return nil, err
	}
	if len(texts) == 0 && o.Config == "" {
		return nil, nil
	}
	in := settings.Inputs{Environ: []string{}, ConfigFile: o.Config, Flags: texts}
	s, err := settings.Load(in)
	if err != nil {
		return nil, cli.Usage(err)
	}
	var all []Variable
	for _, item := range s.All() {
		if from := item.Origin.Source; from == settings.Flag || from == settings.File {
			all = append(all, Variable{item.Variable, item.Value})
		}
	}
	return all, nil
}
