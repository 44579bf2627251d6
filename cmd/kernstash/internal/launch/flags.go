package launch

import (
	"slices"

	"github.com/spf13/pflag"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
)

// Check refuses values of flags that nobody means.
func (o *Options) Check(fs *pflag.FlagSet) error {
	if o.File == "-" {
		return cli.Usagef("--report-file -: want a file, as standard output is the command's; --json writes to standard error")
	}
	return CheckFlags(fs)
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

// nonempty are the flags that want a text: clear --dir "$UNSET" must not clear the user's
// cache.
var nonempty = []string{"dir", "config", "max-size", "max-age", "report-file"}
