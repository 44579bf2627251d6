package main

import (
	"math"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/compile"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/compilers"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/launch"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/session"
)

func runCommand(a *cli.App) *cobra.Command {
	var o launch.Options
	cmd := &cobra.Command{
		Use:   "run [flags] [--] COMMAND [ARG...]",
		Short: "Run a command with the cache in it and in all that it starts",
		Long: `Run a command, and all that it starts, with the cache: what it compiles through
` + runtimes.Served() + ` and was compiled before is loaded,
the rest is compiled and kept. The command need not know of it.

Signals, the terminal, file descriptors and the exit status are the command's, as
if it had been started without us. In the end a short table on standard error says
what was asked for, what was found, what was compiled and why, and the time that
was saved; or why nothing was asked for. --report adds each program, --json makes it
one JSON object, --report-file writes that into a file. --quiet says nothing: then,
without --report-file, the command takes our process over.

Where a runtime has layers ours gets into a program through its loader
(` + runtimes.Layers().Variable + `) and is preloaded (LD_PRELOAD), for loaders that know no layers and
drivers without one; the first to come serves. --inject leaves one of them out. For
runtimes that have none, and libraries that a program opens by itself, a small
library is preloaded, too; not with --no-preload. It starts compilers that are
programs through 'kernstash compile'; not with --no-compilers. 'kernstash doctor --
COMMAND' says what a command compiles with.

JAX's own cache, which JAX leaves off, is switched on where there is a GPU and none of
its variables is set (setting frameworks); --no-frameworks leaves it alone.

With --triton, kernels of Triton (torch.compile's, too) come from the cache: each
is compiled once for all processes. It sets TRITON_CACHE_MANAGER and adds a
directory to PYTHONPATH. It is not on by itself, as Triton fails in a Python that
ignores PYTHONPATH (python3 -I).

With --prefetch what the application is known to use ('remote push --as') is fetched
while the command starts: by the agent of the node, or from the remotes into the cache.
The command waits for nothing. Without NAME it is the application that records know
('ls --app'): the command's file, or the script or module that Python, node, Julia, Ruby,
Perl or Lua runs.

With --expect-warm, for CI, a command that ended well ends with 3, and a list, where
anything was compiled or nothing was asked of the cache. --trace writes when what was
compiled, loaded and waited for; 'kernstash report' says it in words.

With --observe nothing is served, so nothing can go wrong: what would have been
found is counted, everything is compiled, and the results are compared.

EXIT STATUS
  that of the command; it dies by a signal: we die by the same
    2  a flag makes no sense
    3  with --expect-warm: the command ended well, and was not warm
  125  the command could not be run for a reason of ours
  126  the command cannot be executed
  127  there is no such command`,
		Example: `  kernstash run -- clinfo
  kernstash run --report -- hashcat -b -m 0
  kernstash run --triton -- python3 train.py
  kernstash run --prefetch -- python3 train.py
  kernstash run --observe --report-file canary.json -- ./solver input.dat
  kernstash run --expect-warm -- ./solver input.dat
  kernstash run --trace start.json -- ./solver input.dat
  kernstash run --no-cache -- ./solver input.dat`,
		Args: wants(1, math.MaxInt, "run: which command?"),
		RunE: func(_ *cobra.Command, args []string) error {
			o.Global = a.Global
			return launch.Run(&o, args)
		},
		ValidArgsFunction: completeCommand,
	}
	cmd.Flags().SetInterspersed(false)
	o.BindSettings(cmd.Flags())
	o.BindRun(cmd.Flags())
	completeFlag(cmd, "inject", launch.Injects)
	return cmd
}

func enableCommand(a *cli.App) *cobra.Command {
	var o launch.Options
	var apps []string
	var system bool
	cmd := &cobra.Command{
		Use:   "enable [--system | --app NAME...]",
		Short: "Switch the cache on for a user's whole session, or for applications",
		Long: `Have every program of the user's session use the cache, from the next login: the
variables go into $XDG_CONFIG_HOME/environment.d/50-kernstash.conf, which systemd
reads for the session and the user's services. With --system they go into
` + session.SystemFile + `, for the sessions of all users; that needs root.

With --app NAME... it is one application, or several: for each a script
~/.local/bin/NAME starts the program of that name under 'kernstash run --quiet'. The
directory has to come first in PATH. What starts the program by its full path, as some
.desktop files do, is not reached. An application that 'kernstash disable --app' has
switched off in a session with the cache is switched on again. Where one of several
names fails none is switched on.

For the session that is ` + runtimes.Layered() + `, through its loader (` + runtimes.Layers().Variable + `): other
runtimes have none with layers, and nothing is to be preloaded into every program.
With --app they are served as well, and so are compilers that are programs; of these
--launchers has the session serve those that CMake and FlashInfer start.

Enabling again brings what was written up to date. Files that are not of
'kernstash enable' are never written over.` +
			exits("it is switched on", "it is not; the message says why"),
		Example: `  kernstash enable
  kernstash enable --read-only --dir /srv/kernels
  kernstash enable --app darktable
  kernstash enable --app darktable hashcat
  sudo kernstash enable --system`,
		Args: namesWithApp(&system),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("app") {
				return session.EnableApps(a, &o, append(apps, args...))
			}
			path, err := sessionFile(system)
			if err != nil {
				return err
			}
			return session.Enable(a, &o, path)
		},
	}
	switchFlags(cmd, &apps, &system)
	o.BindSettings(cmd.Flags())
	return cmd
}

// switchFlags are the flags that say what is switched on or off.
func switchFlags(cmd *cobra.Command, apps *[]string, system *bool) {
	cmd.Flags().StringArrayVar(apps, "app", nil, "an application, by the `NAME` of its program; more names may follow")
	cmd.Flags().BoolVar(system, "system", false, "the sessions of all users")
}

// namesWithApp accepts arguments, which are names of more applications, with --app alone.
func namesWithApp(system *bool) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch app := cmd.Flags().Changed("app"); {
		case app && *system:
			return cli.Usagef("--app and --system: want one of them")
		case !app:
			if len(args) > 0 {
				return cli.Usagef("%s: takes no argument without --app: %s", cmd.Name(), args[0])
			}
		}
		return nil
	}
}

func sessionFile(system bool) (string, error) {
	if system {
		return session.SystemFile, nil
	}
	return session.File()
}

func disableCommand(a *cli.App) *cobra.Command {
	var apps []string
	var system bool
	cmd := &cobra.Command{
		Use:   "disable [--system | --app NAME...]",
		Short: "Undo what 'kernstash enable' did, or switch the cache off for applications",
		Long: `Remove what 'kernstash enable' wrote, with the directories that it made and that
are empty. What is in the cache stays. --system removes the file for all users.

With --app NAME... it is the script of each of these applications. Where the cache is
on for the whole session they have none from their next start: the setting apps-off
names them, as 'kernstash ls' does (a script or module, where an interpreter runs it).
'kernstash enable --app NAME' takes one out again. Where one of several names fails
all stays as it was.` +
			exits("it is switched off", "it could not be removed, or is not of 'kernstash enable'"),
		Example: `  kernstash disable
  kernstash disable --app darktable hashcat
  sudo kernstash disable --system`,
		Args: namesWithApp(&system),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("app") {
				return session.DisableApps(a, append(apps, args...))
			}
			path, err := sessionFile(system)
			if err != nil {
				return err
			}
			return session.Disable(a, path)
		},
	}
	switchFlags(cmd, &apps, &system)
	return cmd
}

func envCommand(a *cli.App) *cobra.Command {
	var o launch.Options
	var name string
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Print the variables that 'kernstash run' sets",
		Long: `Print the variables that bring the cache into programs, for those who set them
themselves:

  sh, bash, zsh, fish  commands for a shell; what its variables hold already is kept
  systemd              lines for the [Service] section of a unit, with a cache
                       directory unless --dir names one
  docker               lines for a Dockerfile
  k8s                  entries for the env list of a container

In containers the paths are those inside: put the libraries there, or give
KERNSTASH_LIBDIR, and mount a cache directory.` +
			exits("printed", "the libraries are not found; the message says where they were looked for"),
		Example: `  eval "$(kernstash env)"
  kernstash env --shell fish | source
  kernstash env --shell systemd --dir /var/cache/kernstash
  kernstash env --json`,
		RunE: func(*cobra.Command, []string) error { return session.PrintEnv(a, &o, name) },
	}
	cmd.Flags().StringVar(&name, "shell", "sh", "`SHELL`: sh, bash, zsh, fish, systemd, docker or k8s")
	completeFlag(cmd, "shell", session.Shells())
	o.BindSettings(cmd.Flags())
	completeFlag(cmd, "inject", launch.Injects)
	return cmd
}

func compileCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "compile [flags] [--] COMPILER [ARG...]",
		Short: "Run a compiler that is a program with the cache",
		Long: `Run a compiler (` + strings.Join(compile.Names(), ", ") + `) with its arguments. What it made of the same input, with the
same options and the same compiler, is written again, and so are its messages: no compiler runs. Else it runs,
and what it makes is kept. What is not sure to be a plain compile goes to the compiler untouched.

EXIT STATUS
  that of the compiler
    2  a flag makes no sense
  126  the compiler cannot be executed
  127  there is no such compiler`,
		Example: `  kernstash compile -- ptxas -arch=sm_90 kernel.ptx -o kernel.cubin`,
		Args:    wants(1, math.MaxInt, "compile: which compiler?"),
		RunE: func(_ *cobra.Command, args []string) error {
			status, err := compilers.Run(a, args)
			if err != nil {
				return &cli.StatusError{Status: status, Err: err}
			}
			os.Exit(status) // what there is to say the compiler has said
			return nil
		},
		ValidArgsFunction: completeCommand,
	}
	cmd.Flags().SetInterspersed(false)
	return cmd
}
