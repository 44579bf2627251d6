package launch

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
)

// The words by which the launcher (shim/launcher) calls the whole command before and after
// it runs a command: each is followed by what stands behind the word run.
const (
	PrepareStep = "run-prepare"
	ReportStep  = "run-report" // and the status of wait(2), and the nanoseconds that it took
)

// Step does what the launcher asks for. ours is false for arguments that are none of its.
func Step(args []string) (status int, ours bool) {
	if len(args) == 0 {
		return 0, false
	}
	switch args[0] {
	case PrepareStep:
		return prepareStep(args[1:]), true
	case ReportStep:
		return reportStep(args[1:]), true
	}
	return 0, false
}

// parse returns what the arguments behind the word run mean, and where the command begins.
func parse(args []string) (o *Options, begins int, err error) {
	o = new(Options)
	fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.SetInterspersed(false)
	o.Bind(fs)
	o.BindSettings(fs)
	o.BindRun(fs)
	err = cmp.Or(fs.Parse(args), CheckFlags(fs))
	if err == nil && fs.NArg() == 0 {
		err = cli.Usagef("run: which command?")
	}
	return o, len(args) - fs.NArg(), err
}

// prepareStep writes what the launcher is to do, each text with a NUL behind it: where the
// command begins, with a letter where nothing is to be said in the end; then warnings, and
// variables. It does nothing where the whole command has to say what is wrong.
func prepareStep(args []string) int {
	o, begins, err := parse(args)
	if err != nil {
		return 1
	}
	r, err := o.prepare(args[begins:])
	if err != nil || o.create() != nil {
		return 1
	}
	how := ""
	if o.Quiet && o.File == "" {
		how = "q" // nothing is to be said in the end
	}
	const before = 2 // our name, and the word
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d%s\x00", before+begins, how)
	for _, w := range r.warnings {
		fmt.Fprintf(&b, "warning: %s\x00", w)
	}
	for _, v := range r.variables {
		fmt.Fprintf(&b, "%s=%s\x00", v.Name, v.Value)
	}
	if _, err := os.Stdout.Write(b.Bytes()); err != nil {
		return 1
	}
	return 0
}

// reportStep says how a run has ended. Standard input is what the processes have reported;
// standard output is the launcher's standard error.
func reportStep(args []string) int {
	if len(args) < 2 {
		return 1
	}
	status, err := strconv.Atoi(args[0])
	took, tookErr := strconv.ParseInt(args[1], 10, 64)
	args = args[2:]
	o, begins, parseErr := parse(args)
	if cmp.Or(err, tookErr, parseErr) != nil {
		return 1
	}
	r, err := o.prepare(args[begins:])
	if err != nil {
		return 1
	}
	r.tell(os.Stdin, os.Stdout, syscall.WaitStatus(status), time.Duration(took))
	return 0
}
