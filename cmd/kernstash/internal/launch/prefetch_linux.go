package launch

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kernstash/kernstash/agent/client"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/remotes"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/worker"
)

// prefetchMost bounds a prefetch. The command may have ended by then.
const prefetchMost = time.Minute

// prefetchWord, and the name of an application, is by which we call ourselves.
const prefetchWord = "run-prefetch"

// startPrefetch has a process of its own fetch what an application uses.
func startPrefetch(app string, s *settings.Settings, env []string) error {
	if err := remote.CheckApp(app); err != nil {
		return err
	}
	if len(s.Remote) == 0 && !agentOf(s).Present() {
		return errors.New("there is neither an agent nor a remote")
	}
	return spawnPrefetch(app, env)
}

func spawnPrefetch(name string, env []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// It is nobody's child: this process may become the command, which waits for its own children. Its standard
	// descriptors lead nowhere.
	cmd := exec.Command("/bin/sh", "-c", `"$@" &`, "sh", self, prefetchWord, name)
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
