package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kernstash/kernstash/agent/client"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/remotes"
	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/worker"
)

// prefetchMost bounds a prefetch. The command may have ended by then.
const prefetchMost = time.Minute

// prefetch has a process of its own fetch what the application uses, while the command runs. Whatever
// is wrong with that is the command's no matter.
func (r *runner) prefetch() {
	name := r.options.Prefetch
	if name == "" || r.settings.Disable || r.settings.Mode == settings.ModeRefresh {
		return
	}
	if name == OfCommand {
		name = r.recordedName()
	}
	err := remote.CheckApp(name)
	if err == nil && len(r.settings.Remote) == 0 && !agentOf(r.settings).Present() {
		err = errors.New("there is neither an agent nor a remote")
	}
	if err == nil {
		err = spawnPrefetch(name, r.env)
	}
	if err != nil {
		r.warn(fmt.Errorf("nothing is prefetched: %w", err))
	}
}

// recordedName returns what records call the program that the command becomes.
func (r *runner) recordedName() string {
	file := r.path
	if r.target.Script == "" { // the kernel tells a program's own file; an interpreter is told the name of a script
		if real, err := filepath.EvalSymlinks(file); err == nil {
			file = real
		}
	}
	return records.Name(file, r.outcome.Command)
}

func spawnPrefetch(name string, env environ) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// It is nobody's child: this process may become the command, which waits for its own children. Its standard
	// descriptors lead nowhere.
	cmd := exec.Command(shell, "-c", `"$@" &`, shell, self, prefetchWord, name)
	cmd.Env = slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		return strings.HasPrefix(v, "LD_PRELOAD=") || strings.HasPrefix(v, "LD_AUDIT=")
	})
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // what ends the command does not end it
	return cmd.Run()
}

func agentOf(s *settings.Settings) *client.Client {
	return client.New(client.Options{Paths: s.AgentSockets(), UIDs: s.AgentUID})
}

// prefetchStep fetches what an application uses: the agent does, into its node cache, or this process, into the
// root.
func prefetchStep(app string) int {
	worker.CloseInherited(3)
	s, _ := settings.Load(settings.Inputs{Environ: os.Environ(), Lenient: true}) // what is wrong was said
	ctx, cancel := context.WithTimeout(context.Background(), prefetchMost)
	defer cancel()
	if agentOf(s).Prefetch(ctx, app) == nil {
		return 0
	}
	if !s.Writable() || s.Dir == "" {
		return 1
	}
	chain, err := remotes.Open(s, nil)
	if err != nil {
		return 1
	}
	defer chain.Close()
	d := disk.New(cli.DiskOptions(s))
	defer d.Close()
	chain.Fetch(ctx, d, app)
	return 0
}
