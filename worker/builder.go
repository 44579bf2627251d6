package worker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kernstash/kernstash/internal/drivers/variables"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store/disk"
)

// The names of what is in a builder's directory.
const (
	treeDir  = "tree"  // header files, and where it works
	cacheDir = "cache" // what drivers keep
	tmpDir   = "tmp"
)

// result is how a builder ended.
type result struct {
	outcome     spool.Outcome
	crash       string // it said nothing at its end; this is what is known
	interrupted bool   // we ended it, and that says nothing of the job
	starved     bool   // we ended it: it had no processor, and somebody waits for it
	full        bool   // the disk was, and that says nothing of the job either
	cpu         time.Duration
}

// maxSaid bounds what is kept of what a builder prints, and maxOutcome of its
// outcome, which may name all launches of a job.
const (
	maxSaid    = 16 << 10
	maxOutcome = 1 << 20
)

// Why a builder is ended.
var (
	errAsked   = errors.New("the worker ends")
	errStarved = errors.New("somebody waits for it, and others have the processor")
	errLimit   = errors.New("it took too long")
)

// build has a job done by a builder: one that makes way for others, unless the options say otherwise or somebody
// waits. Where somebody begins to wait while others have the processor, the job is begun anew.
func (w *worker) build(e *spool.Entry, j *spool.Job) result {
	idle := !w.o.NormalPriority && !w.waitedFor()
	r := w.builder(e, j, idle)
	if r.starved {
		before := r.cpu
		r = w.builder(e, j, false)
		r.cpu += before
	}
	return r
}

// builder has a job done by a process of its own, at the lowest priority if idle. That reads the job from its standard
// input, which stays open: when it closes, this process has ended, and so does the builder. Its
// working directory is its own. It writes the outcome to descriptor 3. It has no other
// descriptors, and no other standard output than one that is kept to tell why it crashed.
func (w *worker) builder(e *spool.Entry, j *spool.Job, idle bool) (r result) {
	b, err := j.Encode()
	if err != nil {
		return result{outcome: spool.Outcome{State: spool.JobRefused, Reason: err.Error()}}
	}
	dir := filepath.Join(w.dir.Name(), e.Name)
	for _, d := range []string{treeDir, cacheDir, tmpDir} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return result{outcome: spool.Outcome{State: spool.JobElsewhere, Reason: err.Error()}}
		}
	}
	defer os.RemoveAll(dir)

	ctx, cancel := context.WithCancelCause(w.ctx)
	defer cancel(nil)
	waits := new(queue)
	go w.watch(ctx, waits, idle, cancel)

	cmd := exec.CommandContext(ctx, w.o.Command[0], w.o.Command[1:]...)
	cmd.Env = builderEnviron(w.o.Environ, j.Environment, dir)
	cmd.Dir = filepath.Join(dir, treeDir)
	alone(cmd)
	var queued time.Duration
	kill := cmd.Cancel
	cmd.Cancel = func() error {
		queued = waits.look()
		return kill()
	}
	printed := new(tail)
	cmd.Stdout, cmd.Stderr = printed, printed
	cmd.WaitDelay = time.Second
	said, err := w.talk(cmd, b, idle)
	if err != nil {
		return result{outcome: spool.Outcome{State: spool.JobElsewhere, Reason: err.Error()}}
	}
	// The limit is the compiler's: how long a machine takes to start a process that goes
	// when nobody else wants to is none of its doing.
	waits.watch(cmd.Process.Pid)
	defer time.AfterFunc(w.o.Limit, func() { cancel(errLimit) }).Stop()
	err = cmd.Wait()
	end(cmd) // whatever it started
	if cmd.ProcessState != nil {
		r.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	select {
	case b := <-said:
		if json.Unmarshal(b, &r.outcome) == nil && r.outcome.State != "" {
			r.short(dir, r.outcome.Reason)
			return r
		}
	case <-time.After(time.Second): // something that it started has the pipe
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errAsked), w.ctx.Err() != nil:
		r.interrupted = true
	case errors.Is(cause, errStarved):
		r.starved = true
	case cause != nil && queued > w.o.Limit/2:
		// It goes when nobody else wants the processor, and somebody did: that is no
		// fault of the compiler's.
		r.outcome = spool.Outcome{State: spool.JobElsewhere, Reason: fmt.Sprintf("others had the processor for %v of %v", queued.Round(time.Millisecond), w.o.Limit)}
	case cause != nil:
		r.crash = fmt.Sprintf("the build took longer than %v", w.o.Limit)
	default:
		r.crash = crash(err, printed.text())
		r.short(dir, printed.text())
	}
	return r
}

// watch stops a builder when the worker is to end, or its cache went, and an idle one that somebody waits for when it has
// had less of the processor than others kept from it.
func (w *worker) watch(ctx context.Context, waits *queue, idle bool, stop context.CancelCauseFunc) {
	for begun := time.Now(); sleep(ctx, lookEvery) == nil; {
		queued := waits.look()
		switch {
		case w.asked() || moved(w.dir):
			stop(errAsked)
			return
		case idle && queued > time.Since(begun)/2 && w.waitedFor():
			stop(errStarved)
			return
		}
	}
}

// waitedFor reports whether somebody waits for what this worker does.
func (w *worker) waitedFor() bool {
	_, at, err := w.o.Store.ReadNote(disk.WaitNote)
	return err == nil && time.Since(at).Abs() < waitLasts
}

// talk starts a builder with its job. What it says comes when the last process has closed the pipe.
func (w *worker) talk(cmd *exec.Cmd, job []byte, idle bool) (said <-chan []byte, err error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.ExtraFiles = []*os.File{write}
	err = start(cmd, idle)
	write.Close()
	if err != nil {
		read.Close()
		return nil, fmt.Errorf("start the builder: %w", err)
	}
	outcome := make(chan []byte, 1)
	go func() {
		defer read.Close()
		b, _ := io.ReadAll(io.LimitReader(read, maxOutcome))
		outcome <- b
	}()
	// The end of the process ends the write; Wait closes the pipe.
	go func() { _, _ = in.Write(append(binary.LittleEndian.AppendUint64(nil, uint64(len(job))), job...)) }()
	return outcome, nil
}

// crash says how a builder ended that said nothing.
func crash(err error, printed string) string {
	var exit *exec.ExitError
	text := "the builder ended without a word"
	switch {
	case errors.As(err, &exit):
		text = "the compiler's process ended: " + exit.String()
	case err != nil:
		text += ": " + err.Error()
	}
	if last := lastWords(printed); last != "" {
		text += ": " + last
	}
	return text
}

// lastWords returns the last line of what a process printed; where that is Go's dump of a signal, its first one and what
// was printed before it, which is the compiler's.
func lastWords(printed string) string {
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "SIG") && strings.Contains(line, ": ") {
			return strings.Join(lines[max(i-1, 0):i+1], "; ")
		}
	}
	return lines[len(lines)-1]
}

// tail keeps the end of what is written to it.
type tail struct{ b []byte }

func (t *tail) Write(b []byte) (int, error) {
	t.b = append(t.b, b...)
	if len(t.b) > 2*maxSaid {
		t.b = bytes.Clone(t.b[len(t.b)-maxSaid:])
	}
	return len(b), nil
}

func (t *tail) text() string { return strings.ToValidUTF8(string(t.b), "?") }

// leastDisk is what is written to find out whether there is room: a small program's
// files take less.
const leastDisk = 1 << 20

// full returns why nothing can be written to a directory, "" if there is room.
func full(dir string) string {
	probe := filepath.Join(dir, "room")
	err := os.WriteFile(probe, make([]byte, leastDisk), 0o600)
	_ = os.Remove(probe)
	if err != nil {
		return "no room to build in: " + err.Error()
	}
	return ""
}

// What compilers, and Go, print when they run out of disk or memory.
var (
	noDisk   = []string{said(syscall.ENOSPC), said(syscall.EDQUOT), said(syscall.EROFS)}
	noMemory = []string{said(syscall.ENOMEM), said(syscall.EAGAIN), "out of memory", "failed to allocate", "failed to reserve", "bad_alloc"}
)

func said(e syscall.Errno) string { return strings.ToLower(e.Error()) }

// short sees whether a build failed for want of disk or memory, by what was printed and
// by what there is in its directory now. LLVM ends the process then, as in a crash, and
// others call it a mistake of the source; but the job may be done when there is room.
func (r *result) short(dir, printed string) {
	switch r.outcome.State {
	case "", spool.JobFailed, spool.JobRefused, spool.JobElsewhere:
	default:
		return
	}
	reason, text := cmp.Or(r.crash, r.outcome.Reason), strings.ToLower(printed)
	among := func(s string) bool { return strings.Contains(text, s) }
	if why := full(dir); why != "" {
		r.full, reason = true, reason+" ("+why+")"
	}
	// Where there is room, a text may be one that a job prints wherever it is built.
	if r.full || slices.ContainsFunc(noDisk, among) || slices.ContainsFunc(noMemory, among) {
		r.crash, r.outcome = "", spool.Outcome{State: spool.JobElsewhere, Reason: reason}
	}
}

// harmless are the variables that a builder has of its worker: no compiler makes
// other code for them.
var harmless = []string{
	"HOME=", "USER=", "LOGNAME=", "PATH=", "SHELL=", "LANG=", "LC_", "TZ=", "XDG_RUNTIME_DIR=", "SYSTEMROOT=",
}

// never are variables that no builder has, whatever a job says, besides those that make a
// program load a library or a layer, ours first. A builder that asked its own cache
// would wait for itself.
var never = []string{"KERNSTASH_", "LD_DEBUG", "LD_PROFILE"}

// builderEnviron returns the environment in which a job is built: what is harmless
// of environ, the job's own, and directories of its own below dir for what drivers
// keep: nothing of it is left in the user's.
func builderEnviron(environ []string, e spool.Environment, dir string) []string {
	out := slices.DeleteFunc(slices.Clone(environ), func(v string) bool { return !variables.Begins(v, harmless) })
	var job []string
	for _, v := range e.Variables {
		if text := v.Name + "=" + v.Value; !variables.Begins(text, never) && !variables.Loads(text) {
			job = append(job, text)
		}
	}
	ours := append(variables.KeepIn(filepath.Join(dir, cacheDir)), "TMPDIR="+filepath.Join(dir, tmpDir))
	return replaced(replaced(out, job), ours)
}

// Environ returns the environment for a worker's own process, of that of whoever
// starts it: without layers and preloads, with the root that it is for, and with
// settings as variables.
func Environ(environ []string, root string, settings []string) []string {
	out := slices.DeleteFunc(slices.Clone(environ), variables.Loads)
	return replaced(out, append(slices.Clone(settings), "KERNSTASH_DIR="+root))
}

// replaced returns an environment with variables in place of those of the same names.
func replaced(environ, by []string) []string {
	for _, v := range by {
		name, _, _ := strings.Cut(v, "=")
		environ = slices.DeleteFunc(environ, func(o string) bool { return strings.HasPrefix(o, name+"=") })
	}
	return append(environ, by...)
}
