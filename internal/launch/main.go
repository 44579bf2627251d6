package launch

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/kernstash/kernstash/internal/human"
)

// Main is `kernstash run` without the rest of the command, given what follows
// the word run. False: these arguments want more than to run a command (help, or
// to be told what is wrong with them), and nothing was done.
func Main(args []string) (status int, ours bool) {
	var o Options
	fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.SetInterspersed(false)
	o.BindGlobal(fs)
	o.BindSettings(fs)
	o.BindRun(fs)
	help := fs.BoolP("help", "h", false, "")
	if err := fs.Parse(args); err != nil || *help || fs.NArg() == 0 || o.Check(fs) != nil {
		return 0, false
	}
	status, err := Run(&o, fs.Args())
	if errors.Is(err, ErrUsage) {
		return 0, false
	}
	say(fmt.Sprintf("kernstash: %s\n", human.Printable(err.Error(), true)))
	return status, true
}

// Check refuses flags that are there and empty: what they mean when they are not
// there is something else.
func (o *Options) Check(fs *pflag.FlagSet) error {
	for _, name := range []string{"dir", "config", "max-size", "json"} {
		if f := fs.Lookup(name); f != nil && f.Changed && f.Value.String() == "" {
			return usagef("--%s: the value is empty", name)
		}
	}
	return nil
}
