// Package cli is one run of the command: its streams, the flags that all commands have,
// what it exits with, and how it runs itself in processes of their own.
package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/terminal"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/store/disk"
)

// App is one run of the command: its streams, and what all commands share.
type App struct {
	In       io.Reader
	Stream   io.Writer // standard output itself, out is buffered
	Out, Err io.Writer

	Global
}

// Global is what the flags say that all commands have.
type Global struct {
	JSON   bool
	Dir    string
	Config string
	Set    []string // name=value
}

// Bind adds the flags.
func (g *Global) Bind(flags *pflag.FlagSet) {
	flags.BoolVar(&g.JSON, "json", false, "write JSON, for machines")
	flags.StringVar(&g.Dir, "dir", "", "root of the cache: `DIR` (setting dir)")
	flags.StringVar(&g.Config, "config", "", "settings `FILE` to read instead of the user's")
	flags.StringArrayVar(&g.Set, "set", nil, "a setting for this run, as `NAME=VALUE` (see 'kernstash config')")
}

// The exit statuses.
const (
	ExitOK    = 0
	ExitFound = 1 // something failed, or a failure was found
	ExitUsage = 2 // the command line makes no sense
)

// StatusError ends the command with a status of its own.
type StatusError struct {
	Status int
	Err    error
}

func (e *StatusError) Error() string { return e.Err.Error() }

func (e *StatusError) Unwrap() error { return e.Err }

// Usagef makes an error of the command line.
func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

// Usage makes an error one of the command line.
func Usage(err error) error { return &StatusError{ExitUsage, err} }

// IsUsage reports whether an error is one of the command line.
func IsUsage(err error) bool {
	status, is := errors.AsType[*StatusError](err)
	return is && status.Status == ExitUsage
}

// ErrFound ends a command that has said already what it found.
var ErrFound = errors.New("failures were found")

// FlagTexts returns what the command line says about settings.
func (g *Global) FlagTexts() (map[string]string, error) {
	texts := make(map[string]string)
	for _, s := range g.Set {
		name, value, ok := strings.Cut(s, "=")
		if !ok {
			return nil, Usagef("--set %s: want NAME=VALUE", s)
		}
		texts[name] = value
	}
	if g.Dir != "" {
		texts["dir"] = g.Dir
	}
	return texts, nil
}

// Settings returns the settings in force. A setting that makes no sense on the
// command line is a usage error, elsewhere an error.
func (a *App) Settings() (*settings.Settings, error) {
	flags, err := a.FlagTexts()
	if err != nil {
		return nil, err
	}
	s, err := settings.Load(settings.Inputs{ConfigFile: a.Config, Flags: flags})
	ofFlag := func(err error) bool {
		bad, is := errors.AsType[*settings.Error](err)
		return is && bad.Origin.Source == settings.Flag
	}
	if all, is := err.(interface{ Unwrap() []error }); is && slices.ContainsFunc(all.Unwrap(), ofFlag) {
		err = Usage(err)
	}
	if err != nil {
		return nil, err
	}
	for _, w := range s.Warnings {
		fmt.Fprintf(a.Err, "kernstash: warning: %s\n", human.Printable(w.Error(), false))
	}
	return s, nil
}

// WriteJSON writes one indented value.
func (a *App) WriteJSON(v any) error { return terminal.EncodeJSON(a.Out, v, "  ") }

// Report writes a report: as JSON for machines, and as text writes it for people. It returns
// ErrFound if what is reported is not ok.
func (a *App) Report(report any, ok bool, text func()) error {
	if !a.JSON {
		text()
	} else if err := a.WriteJSON(report); err != nil {
		return err
	}
	if !ok {
		return ErrFound
	}
	return nil
}

// Progress returns what tells people on standard error what is going on.
func (a *App) Progress() *terminal.Progress { return terminal.NewProgress(a.Err) }

// Terminal says what standard output can show.
func (a *App) Terminal() terminal.Terminal { return terminal.Of(a.Stream) }

// Printf writes to standard output.
func (a *App) Printf(format string, args ...any) { fmt.Fprintf(a.Out, format, args...) }

// Fold has the lines that write writes wrapped at the width of a terminal; elsewhere they stay as they are.
func (a *App) Fold(write func()) {
	width := a.Terminal().Lines
	if width == 0 {
		write()
		return
	}
	out, folded := a.Out, new(strings.Builder)
	a.Out = folded
	defer func() {
		a.Out = out
		a.Printf("%s", human.WrapColumns(folded.String(), width))
	}()
	write()
}

// Flush lets people see what has been written so far.
func (a *App) Flush() error {
	if w, ok := a.Out.(*bufio.Writer); ok {
		return w.Flush()
	}
	return nil
}

// Cache is what a command works on that needs no runtime.
type Cache struct {
	*App
	Disk     *disk.Store
	Settings *settings.Settings // that name it
}

// OpenCache returns the cache that the settings name. The caller closes its disk tier. A
// directory that the command line names has to be there.
func (a *App) OpenCache() (c Cache, err error) {
	s, err := a.Settings()
	if err != nil {
		return c, err
	}
	if s.Dir == "" {
		return c, ErrNoDirectory
	}
	if s.Origin("dir").Source == settings.Flag {
		if _, err := os.Lstat(s.Dir); errors.Is(err, fs.ErrNotExist) {
			return c, fmt.Errorf("there is no cache: %s does not exist", s.Dir)
		}
	}
	return Cache{a, disk.New(DiskOptions(s)), s}, nil
}

// ErrNoDirectory is returned where nothing says where the cache is.
var ErrNoDirectory = errors.New("there is no cache directory: set KERNSTASH_DIR or HOME, or give --dir")

// DiskOptions returns the options of the disk tier that settings ask for.
func DiskOptions(s *settings.Settings) disk.Options {
	o := disk.Options{Dir: s.Dir, MaxSize: s.MaxSize, Policy: disk.Cost, KeepAccess: true, Records: s.Records}
	if s.Eviction == settings.EvictLRU {
		o.Policy = disk.LRU
	}
	return o
}

// OnCache returns what a command does that works on the cache.
func (a *App) OnCache(do func(context.Context, Cache) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		c, err := a.OpenCache()
		if err != nil {
			return err
		}
		err = do(cmd.Context(), c)
		if closeErr := c.Disk.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("close the cache: %w", closeErr)
		}
		return err
	}
}

// Interruptible returns a context that the first interrupt cancels. What is
// under way may take its time to end, a compiler for instance, which nobody can
// stop; people are told so, and the second interrupt ends the process as if
// nobody listened. The function that is returned gives everything back.
func (a *App) Interruptible() (context.Context, func()) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	ctx, stop := signal.NotifyContext(context.Background(), slices.DeleteFunc(signals, signal.Ignored)...)
	ended := make(chan struct{})
	go func() {
		select {
		case <-ended:
			return
		case <-ctx.Done():
		}
		stop()
		select {
		case <-ended:
		case <-time.After(time.Second):
			if terminal.IsTerminal(a.Err) {
				fmt.Fprintln(a.Err)
			}
			fmt.Fprintln(a.Err, "kernstash: interrupted; waiting for what is under way; interrupt again to end at once")
		}
	}()
	return ctx, func() {
		close(ended)
		stop()
	}
}

// Interruption returns what to say about an error that comes of an interrupt.
func Interruption(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
		return errors.New("interrupted")
	}
	return err
}
