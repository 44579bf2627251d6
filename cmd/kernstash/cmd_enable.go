package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/launch"
)

func (a *app) enableCommand() *cobra.Command {
	var o launch.Options
	var program string
	cmd := &cobra.Command{
		Use:   "enable",
		Short: "Switch the cache on for a user's whole session, or for one application",
		Long: `Have every program of the user's session use the cache, from the next login: the
variables go into $XDG_CONFIG_HOME/environment.d/50-kernstash.conf, which systemd
reads for the session and the user's services.

With --app NAME it is one application: a script ~/.local/bin/NAME starts the
program of that name under 'kernstash run --quiet'. The directory has to come first
in PATH. What starts the program by its full path, as some .desktop files do, is
not reached.

For the session that is OpenCL, through its loader: NVRTC, HIPRTC and Level Zero
have none with layers, and nothing is to be preloaded into every program. With
--app they are served as well.

Enabling again brings what was written up to date. Files that are not of
'kernstash enable' are never written over.

EXIT STATUS
  0  it is switched on
  1  it is not; the message says why
  2  a flag makes no sense`,
		Example: `  kernstash enable
  kernstash enable --read-only --dir /srv/kernels
  kernstash enable --app darktable`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if program != "" || cmd.Flags().Changed("app") {
				return a.enableApp(cmd, &o, program)
			}
			return a.enableSession(cmd, &o)
		},
	}
	cmd.Flags().StringVar(&program, "app", "", "one application, by the name of its program")
	o.BindSettings(cmd.Flags())
	return cmd
}

func (a *app) disableCommand() *cobra.Command {
	var program string
	cmd := &cobra.Command{
		Use:   "disable",
		Short: "Undo what 'kernstash enable' did",
		Long: `Remove what 'kernstash enable' wrote, with the directories that it made and that
are empty. What is in the cache stays.

EXIT STATUS
  0  it is not there any more
  1  it could not be removed, or is not of 'kernstash enable'; or, with --app, the
     session has the cache, and so the application
  2  a flag makes no sense`,
		Example: `  kernstash disable
  kernstash disable --app darktable`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := sessionFile()
			if program != "" || cmd.Flags().Changed("app") {
				path, err = appFile(program)
			}
			if err != nil {
				return err
			}
			removed, err := ownFile(path).remove()
			if err != nil {
				return fmt.Errorf("disable: %w", err)
			}
			session := ""
			if program != "" {
				session = enabledSession()
			}
			switch {
			case a.json:
				err = a.writeJSON(switchReport{Path: path, Enabled: session != "", Changed: removed})
			case removed:
				a.printf("removed %s\n", path)
			default:
				a.printf("there is no %s\n", path)
			}
			if err != nil || session == "" {
				return err
			}
			fmt.Fprintf(a.err, "kernstash: %s has the cache all the same: it is on for the whole session (%s); "+
				"'kernstash disable' switches that off, 'kernstash run --no-cache -- %[1]s' does without once\n", program, session)
			return errFound
		},
	}
	cmd.Flags().StringVar(&program, "app", "", "one application, by the name of its program")
	return cmd
}

// enabledSession returns the file that switches the cache on for the session, "" for none.
func enabledSession() string {
	path, err := sessionFile()
	if err != nil {
		return ""
	}
	if _, is, err := ownFile(path).read(); err != nil || !is {
		return ""
	}
	return path
}

// sessionFile is where systemd reads variables of the user's session.
func sessionFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "environment.d", "50-kernstash.conf"), nil
}

// appFile is where the script of an application goes.
func appFile(program string) (string, error) {
	if program == "" || strings.ContainsAny(program, "/\n") || strings.HasPrefix(program, "-") || strings.HasPrefix(program, ".") ||
		program == "kernstash" {
		return "", usagef("--app %q: want the name of a program, without its directory", program)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".local", "bin", program), nil
}

func (a *app) enableSession(cmd *cobra.Command, o *launch.Options) error {
	path, err := sessionFile()
	if err != nil {
		return err
	}
	o.NoPreload = true // nothing is to be preloaded into every program
	if o.Door == launch.DoorAuto {
		o.Door = launch.DoorLayer
		if loader := openclLoaderFile(); loader != "" && !launch.KnowsLayers(loader) {
			o.Door = launch.DoorPreload
		}
	}
	all, err := a.variables(cmd, o, nil)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, v := range all {
		value := escapeEnvironmentD(v.Value)
		switch v.Name {
		case "LD_PRELOAD":
			return errors.New("enable: the OpenCL loader of this system knows no layers, and nothing is to be " +
				"preloaded into every program: enable applications one by one, with --app")
		case "OPENCL_LAYERS":
			value += "${OPENCL_LAYERS:+:$OPENCL_LAYERS}"
		}
		fmt.Fprintf(&b, "%s=%s\n", v.Name, value)
	}
	return a.writeOwn(path, "", b.String(), 0o644, "from the next login")
}

// openclLoaderFile returns the file of the OpenCL loader that programs find here, "" for none.
func openclLoaderFile() string {
	const soname = "libOpenCL.so.1"
	if _, err := dl.Open(soname); err != nil { // it loads no driver
		return ""
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(maps)) {
		if at := strings.IndexByte(line, '/'); at >= 0 && strings.HasPrefix(filepath.Base(line), "libOpenCL.so") {
			return strings.TrimSpace(line[at:])
		}
	}
	return ""
}

// escapeEnvironmentD writes a value as environment.d(5) reads it.
func escapeEnvironmentD(s string) string {
	return strings.NewReplacer(`\`, `\\`, "$", `\$`, `"`, `\"`, "'", `\'`, " ", `\ `).Replace(s)
}

func (a *app) enableApp(cmd *cobra.Command, o *launch.Options, program string) error {
	path, err := appFile(program)
	if err != nil {
		return err
	}
	if err := o.Check(cmd.Flags()); err != nil {
		return &usageError{err}
	}
	dir := filepath.Dir(path)
	dirs := filepath.SplitList(os.Getenv("PATH"))
	at := slices.IndexFunc(dirs, func(d string) bool { return sameDir(d, dir) })
	found, err := findOther(program, slices.DeleteFunc(slices.Clone(dirs), func(d string) bool { return sameDir(d, dir) }))
	if err != nil {
		return fmt.Errorf("enable: %w", err)
	}
	if found, err = filepath.Abs(found); err != nil {
		return err
	}
	command, err := commandPath()
	if err != nil {
		return err
	}
	flags, err := a.runFlags(o)
	if err != nil {
		return err
	}
	script := fmt.Sprintf(`kernstash=%s
program=%s
[ ! -x "$kernstash" ] || exec "$kernstash" run --quiet%s -- "$program" "$@"
exec "$program" "$@"
`, quoteShell(command), quoteShell(found), flags)
	if err := a.writeOwn(path, "#!/bin/sh\n", script, 0o755, "for "+found); err != nil {
		return err
	}
	first := slices.IndexFunc(dirs, func(d string) bool { return sameDir(d, filepath.Dir(found)) })
	if at < 0 || at > first {
		fmt.Fprintf(a.err, "kernstash: warning: %s does not come before %s in PATH, so the script is not what %s leads to\n",
			dir, filepath.Dir(found), program)
	}
	return nil
}

// sameDir says whether two names lead to one directory: PATH may name it through a
// link, or with a slash behind it.
func sameDir(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// findOther finds a program that is no script of 'kernstash enable': that would
// start itself for ever.
func findOther(program string, dirs []string) (string, error) {
	for {
		found, err := launch.FindCommand(program, strings.Join(dirs, string(filepath.ListSeparator)))
		if err != nil {
			return "", err
		}
		real, err := filepath.EvalSymlinks(found)
		if err != nil {
			return "", err
		}
		if _, is, err := ownFile(real).read(); !is || err != nil {
			return found, nil
		}
		dirs = slices.DeleteFunc(dirs, func(d string) bool { return sameDir(d, filepath.Dir(found)) })
	}
}

// runFlags returns the flags for 'kernstash run', as words of a shell.
func (a *app) runFlags(o *launch.Options) (string, error) {
	o.Dir, o.Config, o.Set = a.dir, a.config, a.set
	all, err := o.Variables()
	if err != nil {
		return "", &usageError{err}
	}
	s, err := a.settings()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, v := range all {
		for _, item := range s.All() {
			if item.Variable == v.Name {
				b.WriteString(" --set " + quoteShell(item.Name+"="+v.Value))
			}
		}
	}
	if o.Door != launch.DoorAuto {
		if err := launch.CheckDoor(o.Door); err != nil {
			return "", &usageError{err}
		}
		b.WriteString(" --door " + o.Door)
	}
	return b.String(), nil
}

func (a *app) writeOwn(path, before, text string, mode os.FileMode, note string) error {
	if err := ownFile(path).write(before, text, mode); err != nil {
		return fmt.Errorf("enable: %w", err)
	}
	if a.json {
		return a.writeJSON(switchReport{Path: path, Enabled: true, Changed: true})
	}
	a.printf("wrote %s: the cache is on, %s\n", path, note)
	return nil
}

// switchReport is what `enable --json` and `disable --json` write.
type switchReport struct {
	Path    string `json:"path"`    // the file that switches it on
	Enabled bool   `json:"enabled"` // it is there now; of an application: or that of the session is
	Changed bool   `json:"changed"` // it was written, or removed
}
