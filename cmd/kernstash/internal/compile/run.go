//go:build unix

package compile

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	internal "github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/contents"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// Run runs a compiler, args[0], with the cache. It returns the compiler's exit status, by which the
// command has to end; or does not return, as the compiler takes its place.
func Run(a *cli.App, args []string) (status int, err error) {
	signal.Reset(ends...) // a signal ends us as it ends the compiler
	flags, err := a.FlagTexts()
	if err != nil {
		return cli.ExitUsage, err
	}
	program, err := exec.LookPath(args[0])
	if err != nil {
		return 127, fmt.Errorf("compile: %w", err)
	}
	if status, by, served := serve(kernstash.Options{ConfigFile: a.Config, Flags: flags, Lenient: true, App: filepath.Base(args[0])}, program, args); served {
		if by != 0 { // a program of Go does not die by all of them
			_ = syscall.Exec("/bin/sh", []string{"sh", "-c", fmt.Sprintf("ulimit -c 0; kill -%d $$", by)}, nil)
		}
		return status, nil
	}
	err = syscall.Exec(program, args, os.Environ())
	return 126, fmt.Errorf("compile: run %s: %w", program, err)
}

// serve writes what the compiler would write. served is false where the compiler is to run as if
// nobody had asked for the cache: nothing was written then.
func serve(o kernstash.Options, program string, args []string) (status int, by syscall.Signal, served bool) {
	c := compilerOf(args[0])
	if c == nil || settings.SwitchedOff(os.Getenv("KERNSTASH_DISABLE")) {
		return 0, 0, false
	}
	if s, _ := settings.Load(settings.Inputs{ConfigFile: o.ConfigFile, Flags: o.Flags, Lenient: true}); !s.Compilers {
		return 0, 0, false
	}
	if isQuestion(args[1:]) {
		return 0, 0, false // which is no compile, and asks nothing of the cache
	}
	begun := time.Now()
	e := runlog.Event{Kind: runlog.Asked, Label: filepath.Base(args[0]), FrontEnd: "compiler", Exe: program}
	log := runlog.FromEnvironment(nil)
	_ = log.Write(runlog.Event{Kind: runlog.Loaded, FrontEnd: e.FrontEnd, Exe: program})
	r := &run{compiler: c, program: program, args: args}
	err := r.serve(o)
	e.Key, e.Spent = r.key, time.Since(begun)
	if c.traced && r.invocation != nil && r.input != "" { // a name of somebody's; inputs of ptxas have one of their own in each run
		e.Label += " " + filepath.Base(r.input)
	}
	switch {
	case r.ran && r.status != 0:
		e.Outcome, e.Reason = runlog.Failed, fmt.Sprintf("exit status %d", r.status)
	case r.ran:
		why := cmp.Or(r.unfit, r.stale)
		e.Outcome, e.Reason = runlog.Compiled, cmp.Or(why, "not in the cache")
		if why == "" {
			e.Nearest = r.nearest
		}
	case err != nil:
		e.Outcome, e.Reason = runlog.Passed, err.Error()
	default:
		e.Outcome, e.Bytes, e.Saved = runlog.Disk, r.found.Size(), r.found.Cost-e.Spent
	}
	_ = log.Write(e)
	return r.status, r.by, r.ran || err == nil
}

// isQuestion reports whether a compiler is only asked about itself.
func isQuestion(args []string) bool {
	return len(args) == 1 && slices.Contains([]string{"--version", "-V", "--help", "-h"}, args[0])
}

// serve asks the cache. Unless the compiler ran, nothing was written where there is an error.
func (r *run) serve(o kernstash.Options) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	if !isELF(r.program) {
		return errors.New("not a program, but a script")
	}
	if real, err := filepath.EvalSymlinks(r.program); err != nil || compilerOf(real) == nil {
		return errors.New("a link to another program") // as ccache has them, which may run any compiler
	}
	if r.invocation, err = r.compiler.read(r.args[1:], os.Getenv); err != nil {
		return err
	}
	cache, err := kernstash.Open(o)
	if err != nil {
		return err
	}
	defer cache.Close()
	if r.compiler.traced {
		return r.serveTraced((*internal.Cache)(cache))
	}
	x := kernstash.NewContext(cache, r, kernstash.ContextOptions{OptionsAsGiven: true})
	defer x.Close()
	img, err := kernstash.NewImage(r.kind, r.code)
	if err != nil {
		return err
	}
	p, err := x.Program(context.Background(), kernstash.Request{Image: img, Attributes: r.attributes})
	if err != nil {
		return err
	}
	defer p.Release()
	r.key = p.Key(0).Short()
	m, err := p.Native(0)
	if err != nil || r.ran {
		return err
	}
	return r.deliver(m)
}

var ends = []os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP}

// isELF reports whether a program is one, and no script that starts another.
func isELF(path string) bool {
	f, err := elf.Open(path)
	return err == nil && f.Close() == nil
}

// run is a run of a compiler, and the Runtime for it.
type run struct {
	compiler *compiler
	program  string
	args     []string
	*invocation

	ran    bool // the compiler, here
	status int
	by     syscall.Signal // that ended it
	unfit  string         // why nothing is kept of what it made
	stale  string         // why what is kept does not hold

	nearest string // in what the nearest entry differs; "" where that was not looked for

	key   string
	found *store.Artifact
}

// anyInput takes the place of the name of the input in messages that are kept.
const anyInput = "\x1ainput\x1a"

// deliver writes what was found as the compiler would.
func (r *run) deliver(a *store.Artifact) error {
	text, _ := r.compiler.messages(a.Log, anyInput, r.input)
	if r.compiler.traced {
		if err := cmp.Or(isOrdinary(r.output), isOrdinary(r.depends)); err != nil {
			return err
		}
	}
	if r.depends != "" {
		if len(a.Binaries) != 2 {
			return errors.New("the entry has no dependency file")
		}
		if err := write(r.depends, a.Binaries[1].Data); err != nil {
			return err
		}
	}
	if r.replaces {
		_ = os.Remove(r.output)
	}
	if err := write(r.output, a.Binaries[0].Data); err != nil {
		return err
	}
	_, _ = io.WriteString(os.Stderr, text)
	return nil
}

// isOrdinary returns an error for a path to what compilers treat in ways of their own: a link, a file with
// several names.
func isOrdinary(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return nil // where it cannot be made, write says so
	}
	if s, ok := info.Sys().(*syscall.Stat_t); !ok || s.Nlink != 1 || !info.Mode().IsRegular() {
		return errIrregular
	}
	return nil
}

// write writes a file as compilers do.
func write(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errIrregular
	}
	if err == nil {
		_, err = f.Write(content)
	}
	return cmp.Or(err, f.Close())
}

var errIrregular = errors.New("not a regular file")

// Build runs the compiler.
func (r *run) Build(context.Context, kernstash.Job) (*store.Artifact, *store.Artifact, error) {
	out, messages, err := r.execute(nil, (*exec.Cmd).Run)
	switch {
	case !r.ran:
		return nil, nil, err
	case err != nil:
		return nil, nil, &kernstash.BuildError{Code: r.status, Log: messages, Err: err}
	}
	a, err := r.kept(out, messages)
	if err != nil {
		r.unfit = err.Error()
		return &store.Artifact{}, nil, &kernstash.UnfitError{Why: r.unfit}
	}
	return a, a, nil
}

// execute runs the compiler, in an environment, or its own for nil, and returns what it wrote. start
// starts it, and waits for its end.
func (r *run) execute(environ []string, start func(*exec.Cmd) error) (out []byte, messages string, err error) {
	standard, err := newTee(os.Stdout)
	if err != nil {
		return nil, "", err
	}
	text, err := newTee(os.Stderr)
	if err != nil {
		standard.end()
		return nil, "", err
	}
	// All signals are handed on, though a terminal sends its own to the compiler, too. What we ignore it ignores.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals, first := make(chan os.Signal, 8), make(chan os.Signal, 1)
	signal.Notify(signals, slices.DeleteFunc(slices.Clone(ends), signal.Ignored)...)
	defer func() { signal.Stop(signals); close(signals) }()
	go func() {
		if s, ok := <-signals; ok {
			first <- s
			cancel()
		}
	}()
	cmd := exec.CommandContext(ctx, r.program, r.args[1:]...)
	cmd.Cancel = func() error {
		select {
		case s := <-first:
			go func() {
				for s := range signals {
					_ = cmd.Process.Signal(s)
				}
			}()
			return cmd.Process.Signal(s)
		default:
			return nil
		}
	}
	cmd.Args[0], cmd.Env = r.args[0], environ
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, standard.write, text.write
	err = start(cmd)
	out, messages = standard.end(), string(text.end())
	if r.ran = cmd.Process != nil; !r.ran {
		return nil, "", err
	}
	if w, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		r.by, r.status = w.Signal(), 128+int(w.Signal())
	} else {
		r.status = cmd.ProcessState.ExitCode()
	}
	return out, messages, err
}

// A tee hands what is written to it on to a file, and keeps it. Where the file takes no more, the compiler goes on, as it
// does without us.
type tee struct {
	read, write *os.File
	kept        bytes.Buffer
	done        chan struct{}
}

func newTee(to *os.File) (*tee, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	t := &tee{read: read, write: write, done: make(chan struct{})}
	go func() {
		defer close(t.done)
		for b := make([]byte, 32<<10); err == nil; {
			var n int
			n, err = read.Read(b)
			_, _ = to.Write(b[:n])
			t.kept.Write(b[:n])
		}
	}()
	return t, nil
}

// leave is how long what a compiler has left running may write to what was the compiler's.
const leave = 500 * time.Millisecond

// end returns what was written.
func (t *tee) end() []byte {
	_ = t.write.Close()
	_ = t.read.SetReadDeadline(time.Now().Add(leave))
	<-t.done
	_ = t.read.Close()
	return t.kept.Bytes()
}

// kept returns what a run has made, or why it is not kept.
func (r *run) kept(out []byte, messages string) (*store.Artifact, error) {
	if len(out) > 0 {
		return nil, errors.New("it wrote to standard output")
	}
	text, ok := r.compiler.messages(messages, r.input, anyInput)
	if !ok || strings.Contains(messages, anyInput) {
		return nil, errors.New("its messages name the input in an unknown way")
	}
	again, err := r.compiler.read(r.args[1:], os.Getenv)
	if err != nil || !bytes.Equal(again.code, r.code) || !slices.Equal(again.attributes, r.attributes) {
		return nil, errors.New("what it read changed meanwhile")
	}
	info, err := os.Stat(r.output)
	if err != nil || !info.Mode().IsRegular() {
		return nil, errIrregular
	}
	output, err := os.ReadFile(r.output)
	if err != nil || len(output) == 0 || !r.compiler.traced && bytes.Contains(output, []byte(filepath.Base(r.input))) {
		return nil, errors.New("there is no output, or it names the input")
	}
	a := &store.Artifact{Binaries: []store.Binary{{Form: store.FormFinal, Data: output}}, Log: text}
	if r.compiler.traced { // whose input is in the key: what people know it by
		a.Kernels = []store.Kernel{{Name: filepath.Base(r.input)}}
	}
	if r.depends != "" {
		b, err := os.ReadFile(r.depends)
		if err != nil || len(b) == 0 {
			return nil, errors.New("there is no dependency file")
		}
		a.Binaries = append(a.Binaries, store.Binary{Form: store.FormIntermediate, Data: b})
	}
	return a, nil
}

// Identify returns what the compiler is.
func (r *run) Identify(context.Context, int) (key.Device, error) {
	path, err := filepath.EvalSymlinks(r.program)
	if err != nil {
		return key.Device{}, err
	}
	stamp, err := contents.Look(path)
	if err != nil {
		return key.Device{}, err
	}
	digest, err := contents.Stamped(path, stamp)
	if err != nil {
		return key.Device{}, err
	}
	return key.Device{
		API: "compiler", Platform: "process", Name: filepath.Base(r.args[0]), // which is in its messages
		Compiler: []key.Pair{{Name: r.compiler.names[0], Value: digest}},
	}, nil
}

// Load returns what an artifact holds.
func (r *run) Load(_ context.Context, _ kernstash.Job, a *store.Artifact) (*store.Artifact, error) {
	r.found = a
	return a, nil
}

// Variables returns those that programs obey which the compiler starts.
func (r *run) Variables(int) ([]key.Pair, error) {
	if !r.compiler.traced {
		return nil, nil
	}
	return variables(plain(os.Environ())), nil
}

func (r *run) Devices() int                                     { return 1 }
func (r *run) Kernel(*store.Artifact, string) (struct{}, error) { return struct{}{}, nil }
func (r *run) ReleaseProgram(*store.Artifact)                   {}
func (r *run) ReleaseKernel(struct{})                           {}
