// Package node runs the agent of a node, and says how it is.
package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kernstash/kernstash/agent"
	"github.com/kernstash/kernstash/agent/client"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/remotes"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/settings"
)

// Options are what the command line says.
type Options struct {
	Socket, File string
	Verbose      bool
	Version      string
}

const (
	systemFile = "/etc/kernstash/agent.json"
	systemDir  = "/var/cache/kernstash-agent"

	// flushWait is how long the agent goes on when it is told to end.
	flushWait = 2 * time.Second
)

// Run is the agent, until ctx ends.
func Run(ctx context.Context, a *cli.App, o Options) error {
	s, err := a.Settings()
	if err != nil {
		return err
	}
	config, err := o.config()
	if err != nil {
		return err
	}
	if err := place(a, config, s, o.Socket); err != nil {
		return err
	}
	uid := os.Geteuid()
	opts, err := config.Options(uid)
	if err != nil {
		return fmt.Errorf("%s: %w", o.name(), err)
	}
	level := slog.LevelInfo
	if o.Verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: level}))
	opts.Log, opts.Version, opts.MaxAge = log, o.Version, s.Threshold
	of := &tenants{s, len(config.Tenants) == 0, log, make(map[string]remotes.Config)}
	opts.Signer, opts.Open = of.signer, of.open

	l, err := agent.Activated()
	if l == nil && err == nil {
		l, err = agent.Listen(config.Socket, opts.Everybody(uid))
	}
	if err != nil {
		return err
	}
	defer l.Close()
	server, err := agent.New(opts)
	if err != nil {
		return err
	}
	log.Info("the agent serves", "socket", l.Addr().String(), "dir", opts.Dir, "tenants", len(opts.Tenants))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	agent.Notify("READY=1")
	select {
	case err = <-ended:
	case <-ctx.Done():
	}
	agent.Notify("STOPPING=1")
	log.Info("the agent ends")
	wait, cancel := context.WithTimeout(context.Background(), flushWait)
	defer cancel()
	server.Shutdown(wait)
	return err
}

func (o Options) name() string {
	if o.File == "" {
		return "agent"
	}
	return o.File
}

// config reads the file that was named, or that of the system, if there is one.
func (o *Options) config() (*agent.Config, error) {
	named := o.File != ""
	if !named {
		if os.Geteuid() != 0 {
			return new(agent.Config), nil
		}
		o.File = systemFile
	}
	f, err := openFile(o.File)
	if errors.Is(err, fs.ErrNotExist) && !named {
		o.File = ""
		return new(agent.Config), nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c, err := agent.ParseConfig(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.File, err)
	}
	return c, nil
}

// place says where the socket and the node caches are.
func place(a *cli.App, c *agent.Config, s *settings.Settings, socket string) error {
	root := os.Geteuid() == 0
	switch {
	case socket != "":
		abs, err := filepath.Abs(socket)
		if err != nil {
			return err
		}
		c.Socket = abs
	case c.Socket != "":
	case root:
		c.Socket = settings.SystemAgent
	default:
		if c.Socket = s.UserAgent(); c.Socket == "" {
			return errors.New("where the socket is to be is not known: set XDG_RUNTIME_DIR, or give --socket")
		}
	}
	if a.Dir != "" {
		abs, err := filepath.Abs(a.Dir)
		if err != nil {
			return err
		}
		c.Dir = abs
	}
	if c.Dir != "" {
		return nil
	}
	switch dir := os.Getenv("CACHE_DIRECTORY"); { // of a systemd unit
	case filepath.IsAbs(dir):
		c.Dir = dir
	case root:
		c.Dir = systemDir
	default:
		dir, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		c.Dir = filepath.Join(dir, "kernstash-agent")
	}
	return nil
}

// status is what is said of an agent.
type status struct {
	Socket string `json:"socket"`
	On     bool   `json:"on"`
	Reason string `json:"reason,omitempty"` // why not
	*agent.Status
}

// Ask asks the agent of the node, where the settings look for it, how it is.
func Ask(ctx context.Context, s *settings.Settings) (socket string, st *agent.Status, err error) {
	paths := s.AgentSockets()
	if len(paths) == 0 {
		return "", nil, errors.New("the settings ask no agent (agent=off)")
	}
	c := client.New(client.Options{Paths: paths, UIDs: s.AgentUID, Timeout: 2 * time.Second})
	st = new(agent.Status)
	socket, err = c.Status(ctx, st)
	if socket == "" {
		socket = paths[0]
	}
	return socket, st, err
}

// Status says how the agent of the node is.
func Status(ctx context.Context, a *cli.App, socket string) error {
	s, err := a.Settings()
	if err != nil {
		return err
	}
	if socket != "" {
		if s.Agent, err = filepath.Abs(socket); err != nil {
			return err
		}
	}
	path, st, err := Ask(ctx, s)
	report := status{Socket: path, On: err == nil, Status: st}
	if err != nil {
		report.Reason, report.Status = err.Error(), nil
	}
	return a.Report(report, err == nil, func() {
		if err != nil {
			a.Printf("%s\n", human.Printable(strings.TrimPrefix(path+": "+err.Error(), ": "), false))
			return
		}
		a.Printf("%s: an agent serves, process %d, for %s; %s, %s held\n", path, st.PID,
			human.Time(time.Duration(st.UpMS)*time.Millisecond), human.Plural(st.Clients, "client"), human.Plural(st.Locks, "lock"))
		for _, t := range st.Tenants {
			write := "read-only"
			if t.Write {
				write = "read and written"
			}
			a.Printf("  tenant %s, %s: %s, %s of %s\n", human.Printable(t.Name, false), write,
				human.Plural(int(t.Entries), "entry"), human.Size(t.Bytes), human.Size(t.MaxBytes))
			a.Printf("    asked %d times: %d from the node cache, %d from farther; %d handed over\n", t.Gets, t.Hits, t.Fetched, t.Puts)
			if t.Untrusted > 0 {
				a.Printf("    %d times what the node cache has was not handed out: its signature does not count (any more)\n", t.Untrusted)
			}
		}
	})
}
