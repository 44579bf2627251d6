package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/store/disk"
)

// StartOptions say how a process that added a job sees that it is done.
type StartOptions struct {
	// Jobs are what is to be done. A worker has the Settings, whatever Environ says: a
	// program may have chosen a limit that is in no variable, and a worker with
	// another one would evict by that. It does the jobs of a store on disk.
	kernstash.Jobs

	Environ []string // the environment of this process, as os.Environ returns it
	Command string   // the kernstash command; "" has it looked for
	Library string   // the file beside which the command lies, in ../bin; "" for none

	// Spawn starts a program that ends on its own, in an environment, and of which this
	// process hears nothing. nil: as a Go program does, which has no signal handlers or
	// wait calls of others to mind. A process that has a Spawn does nothing inline.
	Spawn func(path string, argv, environ []string) error
}

// startPause is how long a process waits after a worker could not be started.
const startPause = time.Minute

// Starter sees that there is a worker. It is safe for concurrent use.
type Starter struct {
	o     StartOptions
	store *disk.Store
	mu    sync.Mutex
	not   time.Time          // until then it is no use to try
	end   context.CancelFunc // ends what runs inline; nil: nothing
	runs  sync.WaitGroup     // of what runs inline
}

// NewStarter returns a Starter.
func NewStarter(o StartOptions) *Starter {
	o.Trace = cmp.Or(o.Trace, slog.New(slog.DiscardHandler))
	s, ok := o.Store.(*disk.Store)
	if !ok {
		o.Policy = settings.WorkerOff
	}
	return &Starter{o: o, store: s}
}

// ForCache returns the Starter of a program in Go: it is for kernstash.Options.
func ForCache(j kernstash.Jobs) kernstash.Starter {
	return NewStarter(StartOptions{Jobs: j, Environ: os.Environ()})
}

// Start starts a worker if the policy says so and there is none. It takes a
// millisecond, and is to be called off the application's path.
// What goes wrong is traced, and tried again a minute later: jobs wait.
func (s *Starter) Start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.o.Policy == settings.WorkerOff || time.Now().Before(s.not) || s.end != nil {
		return
	}
	if err := s.start(); err != nil {
		s.not = time.Now().Add(startPause)
		s.o.Trace.Info("no worker was started", "reason", err)
	}
}

// StartNow is Start for a caller that waits for the worker, whatever the policy: the error says
// why none is started. That there is one is none.
func (s *Starter) StartNow() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.start()
}

func (s *Starter) start() error {
	if s.store == nil {
		return fmt.Errorf("jobs of a %T: %w", s.o.Store, errors.ErrUnsupported)
	}
	if s.store.HasWorker() {
		return nil
	}
	path := s.o.Command
	if path == "" {
		var err error
		if path, err = FindCommand(s.o.Library, s.o.Environ); err != nil {
			return err
		}
	}
	environ := Environ(s.o.Environ, s.store.Dir(), s.o.Settings)
	// --dir names a cache that is there: one that is removed before the worker begins is not made anew.
	argv := []string{path, "worker", "run", "--quiet", "--dir", s.store.Dir()}
	switch {
	case s.o.Spawn != nil:
		return s.o.Spawn(path, argv, environ)
	case s.o.Policy == settings.WorkerInline:
		s.inline(path)
		return nil
	}
	return spawn(path, argv, environ)
}

// inline runs a worker in this process. Its builders are processes all the same:
// they have the jobs' environments, and may crash.
func (s *Starter) inline(path string) {
	ctx, cancel := context.WithCancel(context.Background())
	s.end = cancel
	s.runs.Go(func() {
		_, err := Run(ctx, Options{
			Store: s.store, Command: BuilderCommand(path, s.store, flags(s.o.Settings)), Environ: s.o.Environ, Trace: s.o.Trace,
		})
		s.mu.Lock()
		defer s.mu.Unlock()
		s.end = nil
		cancel()
		if err != nil {
			s.o.Trace.Info("the worker in this process ended", "reason", err)
		}
	})
}

// Close ends what runs inline, and waits until it has: the job that is under way stays.
func (s *Starter) Close() {
	s.mu.Lock()
	if s.end != nil {
		s.end()
	}
	s.not = time.Now().Add(startPause)
	s.mu.Unlock()
	s.runs.Wait()
}

// BuilderCommand returns the program and the arguments that do one job of a store.
// more are settings, as "name=value".
func BuilderCommand(path string, s *disk.Store, more []string) []string {
	argv := []string{path, "worker", "build", "--dir", s.Dir()}
	for _, m := range more {
		argv = append(argv, "--set", m)
	}
	return argv
}

// flags returns settings that are variables as the values of --set, but for those of remotes:
// others see the arguments of a process, and a builder speaks to no remote.
func flags(variables []string) (all []string) {
	for _, v := range variables {
		name, value, _ := strings.Cut(strings.TrimPrefix(v, "KERNSTASH_"), "=")
		if name != "TENANT" && !strings.HasPrefix(name, "REMOTE") {
			all = append(all, strings.ReplaceAll(strings.ToLower(name), "_", "-")+"="+value)
		}
	}
	return all
}

// What the command is called, and the variable that names it where it is neither beside the
// library nor in PATH.
const commandName, CommandVariable = "kernstash", "KERNSTASH_COMMAND"

// FindCommand returns the path of the kernstash command: what KERNSTASH_COMMAND in
// environ says, else ../bin/kernstash beside library, if that is of the same owner, of
// this user or of root, else what PATH leads to. It must be absolute.
func FindCommand(library string, environ []string) (string, error) {
	get := func(name string) string {
		for _, v := range environ {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}
	if path := get(CommandVariable); path != "" {
		if err := isCommand(path); err != nil {
			return "", fmt.Errorf("%w: %s: %w", ErrNoCommand, CommandVariable, err)
		}
		return path, nil
	}
	if filepath.IsAbs(library) {
		dir := filepath.Dir(library)
		// Beside the library's folder, or, as Debian lays libraries out, two up.
		for _, up := range []string{"../bin", "../../bin"} {
			path := filepath.Join(dir, up, commandName)
			if isCommand(path) == nil && ofUs(path, library) {
				return path, nil
			}
		}
	}
	for _, dir := range filepath.SplitList(get("PATH")) {
		path := filepath.Join(dir, commandName)
		if isCommand(path) == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: kernstash is neither beside the library nor in PATH; %s may say where it is", ErrNoCommand, CommandVariable)
}

// isCommand says why a path is not that of a program.
func isCommand(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%q is not absolute", path)
	}
	_, err := exec.LookPath(path)
	return err
}

// spawn starts a program in a session of its own, and leaves it.
func spawn(path string, argv, environ []string) error {
	cmd := exec.Command(path)
	cmd.Args, cmd.Env, cmd.Dir = argv, environ, string(filepath.Separator)
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	go func() { _ = cmd.Wait() }() // so that it leaves no zombie while this process lives
	return nil
}
