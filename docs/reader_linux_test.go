package docs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/cbuild"
	"github.com/kernstash/kernstash/internal/timing"
)

// prefix is where kernstash is installed, once for all readers.
var prefix string

// withPrefix runs the tests, and removes the installation in the end.
func withPrefix(m *testing.M) int {
	dir, err := os.MkdirTemp("", "kernstash-docs-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	prefix = filepath.Join(dir, "prefix")
	return cbuild.Main(m)
}

var (
	installing sync.Once
	errInstall error
)

// install puts kernstash into the prefix, by the script of `make install`.
func install(lib *cbuild.Built) error {
	build := filepath.Join(filepath.Dir(prefix), "build")
	bin := filepath.Join(build, "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		return err
	}
	if err := errors.Join(cbuild.Command(filepath.Join(bin, "kernstash-full")), cbuild.CompileCommand(filepath.Join(bin, "kernstash-compile"))); err != nil {
		return err
	}
	const commands = `
		make -s -C shim/launcher OUT="$BUILD/bin"
		cp -r "$LIB" "$BUILD/lib"
		"$BUILD/bin/kernstash" man "$BUILD/share/man"
		mkdir "$BUILD/share/bash" "$BUILD/share/zsh" "$BUILD/share/fish"
		touch "$BUILD/share/bash/kernstash" "$BUILD/share/zsh/_kernstash" "$BUILD/share/fish/kernstash.fish"
		packaging/install install "$PREFIX"`
	cmd := exec.Command("sh", "-e", "-c", commands)
	cmd.Dir = lib.Root
	cmd.Env = append(os.Environ(), "BUILD="+build, "LIB="+lib.Dir, "PREFIX="+prefix)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("install: %w\n%s", err, out)
	}
	return nil
}

// reader is a user who does what a document says.
type reader struct {
	root, home string
	state      string // a file, in which each command leaves its variables and its directory for the next
	group      int    // of processes, which end with the reader
	environ    []string
}

// newReader returns a reader with an empty home, but for vadd.cl and saxpy.c, and a link to the examples.
func newReader(t *testing.T) *reader {
	t.Helper()
	lib := cbuild.Library(t)
	installing.Do(func() { errInstall = install(lib) })
	if errInstall != nil {
		t.Fatal(errInstall)
	}
	home := t.TempDir()
	r := &reader{
		root: lib.Root, home: home, state: filepath.Join(t.TempDir(), "state"),
		environ: []string{
			"PATH=" + filepath.Join(prefix, "bin") + ":" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + t.TempDir(),
			"PKG_CONFIG_PATH=" + filepath.Join(prefix, "lib", "pkgconfig"), "LD_LIBRARY_PATH=" + filepath.Join(prefix, "lib"),
			"POCL_CACHE_DIR=" + filepath.Join(home, ".cache", "pocl"), "LANG=C.UTF-8",
		},
	}
	cbuild.Digests(t, filepath.Join(home, ".cache", "kernstash"))
	for from, to := range map[string]string{
		"cmd/kernstash/internal/demo/programs/kernels/vadd.cl": "vadd.cl", "examples/c/saxpy.c": "saxpy.c",
	} {
		b, err := os.ReadFile(filepath.Join(lib.Root, from))
		if err == nil {
			err = os.WriteFile(filepath.Join(home, to), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(lib.Root, "examples"), filepath.Join(home, "examples")); err != nil {
		t.Fatal(err)
	}
	leader := exec.Command("cat") // until its input ends
	leader.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	input, err := leader.StdinPipe()
	if err == nil {
		err = leader.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	r.group = leader.Process.Pid
	t.Cleanup(func() {
		if out, err := r.shell("kernstash worker stop"); err != nil {
			t.Errorf("worker stop: %v\n%s", err, out)
		}
		_ = syscall.Kill(-r.group, syscall.SIGKILL)
		_ = input.Close()
		_ = leader.Wait()
	})
	return r
}

// runs has how a block of each kind is run.
var runs = map[string]func(*reader, string) error{
	"console": (*reader).console, "sh": (*reader).script, "go": (*reader).program, "c": (*reader).c, "python": (*reader).python,
}

func (r *reader) run(b block) error {
	if first, ok := b.marked(runFirst); ok {
		if err := r.script(first); err != nil {
			return fmt.Errorf("first: %w", err)
		}
	}
	return runs[b.kind](r, b.text)
}

// patience is how long a command may take.
const patience = 2 * time.Minute

// printed is what a command wrote to standard output, and to standard error.
type printed struct{ out, err string }

func (p printed) String() string { return p.out + p.err }

// shell runs a command after those before it: their variables, their directory, and $? hold.
func (r *reader) shell(command string) (p printed, err error) {
	// Files, not pipes: what runs on in the background has them, too.
	outFile, errOut := os.Create(r.state + ".out")
	errFile, errErr := os.Create(r.state + ".err")
	if err := errors.Join(errOut, errErr); err != nil {
		return p, err
	}
	defer outFile.Close()
	defer errFile.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	const around = `. "$0"
eval "$1"
status=$?
{ export -p; printf 'cd "%s"\n(exit %d)\n' "$PWD" $status; } >"$0"
exit $status`
	cmd := exec.CommandContext(ctx, "sh", "-c", around, r.state, command)
	cmd.Env, cmd.Dir = r.environ, r.home
	cmd.Stdout, cmd.Stderr = outFile, errFile
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: r.group}
	if _, err := os.Stat(r.state); err != nil {
		if err := os.WriteFile(r.state, nil, 0o600); err != nil {
			return p, err
		}
	}
	err = cmd.Run()
	out, errOut := os.ReadFile(outFile.Name())
	stderr, errErr := os.ReadFile(errFile.Name())
	return printed{string(out), string(stderr)}, errors.Join(err, errOut, errErr)
}

// session is a command of a console block, with what it prints.
type session struct{ command, output string }

// sessions returns the commands of a console block. A line that ends in a backslash goes on in the next.
func sessions(text string) (all []session, err error) {
	continued := false
	for line := range strings.Lines(text) {
		command, ok := strings.CutPrefix(line, "$ ")
		switch {
		case continued:
			all[len(all)-1].command += strings.TrimPrefix(line, "> ")
		case ok:
			all = append(all, session{command: command})
		case len(all) == 0:
			return nil, fmt.Errorf("no command stands before %q", line)
		default:
			all[len(all)-1].output += line
		}
		continued = (continued || ok) && strings.HasSuffix(line, "\\\n")
	}
	return all, nil
}

func TestSessions(t *testing.T) {
	t.Parallel()
	got, err := sessions("$ a \\\n> b\n1\n2\\\n$ c\n")
	if err != nil || len(got) != 2 || got[0] != (session{"a \\\nb\n", "1\n2\\\n"}) || got[1] != (session{"c\n", ""}) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := sessions("ls\n"); err == nil {
		t.Error("there is no command")
	}
}

// console runs the commands of a block and compares what they print with what stands there: all, or without
// standard error, which has progress. Where nothing stands they may print anything. A command fails only where
// "echo $?" comes next.
func (r *reader) console(text string) error {
	all, err := sessions(text)
	if err != nil {
		return err
	}
	for i, s := range all {
		out, err := r.shell(s.command)
		var exit *exec.ExitError
		if errors.As(err, &exit) && i+1 < len(all) && strings.Contains(all[i+1].command, "$?") {
			err = nil
		}
		if err != nil {
			return fmt.Errorf("%s%w\n%s", s.command, err, out)
		}
		pattern := shape(s.output)
		if s.output != "" && !pattern.MatchString(out.String()) && !pattern.MatchString(out.out) {
			return fmt.Errorf("%sprints\n%s\nand not\n%s\n%s", s.command, out, s.output, pattern)
		}
	}
	return nil
}

// script runs commands until one fails.
func (r *reader) script(text string) error {
	out, err := r.shell("set -e\n" + text + "\nset +e")
	if err != nil {
		return fmt.Errorf("%s\n%w\n%s", text, err, out)
	}
	return nil
}

func (r *reader) write(name, text string) error {
	return os.WriteFile(filepath.Join(r.home, name), []byte(text), 0o600)
}

// program compiles a program and runs it twice: what it says is compiled the first time, it finds the second.
func (r *reader) program(text string) error {
	if err := r.write("main.go", text); err != nil {
		return err
	}
	build := exec.Command("go", "build", "-o", filepath.Join(r.home, "program"), filepath.Join(r.home, "main.go"))
	build.Dir = r.root
	if timing.IsLong() { // users have none of cgo; without it much is to be compiled that the tests have compiled with it
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
	}
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	first, err := r.shell(`"$HOME"/program`)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, first)
	}
	second, err := r.shell(`"$HOME"/program`)
	if err != nil {
		return fmt.Errorf("the second time: %w\n%s", err, second)
	}
	if want := strings.ReplaceAll(first.String(), "compiled: 1\n", "compiled: 0\n"); second.String() != want {
		return fmt.Errorf("says %q, then %q", first, second)
	}
	return nil
}

// c compiles what stands there, with the header that is installed; a program is run.
func (r *reader) c(text string) error {
	if err := r.write("block.c", text); err != nil {
		return err
	}
	return r.script(`cd; flags="-std=c11 -Wall -Wextra -Werror $(pkg-config --cflags kernstash)"
if grep -q ' main(' block.c; then
	cc $flags -o block block.c $(pkg-config --libs kernstash) -lOpenCL
	./block
else
	cc $flags -fsyntax-only block.c
fi`)
}

// python runs a program of Python, with the package that is installed.
func (r *reader) python(text string) error {
	if err := r.write("block.py", text); err != nil {
		return err
	}
	return r.script(`PYTHONPATH="` + filepath.Join(prefix, "lib", "kernstash", "python") + `" python3 "$HOME"/block.py`)
}

// Times, sizes, keys, fingerprints, devices and homes are others wherever a command runs.
const (
	aTime = `(?:[0-9.]+ (?:h|min|s|ms|µs|ns)(?: [0-9]+ (?:min|s))?|[0-9]+ days?)`
	anAge = `(?:now|` + aTime + ` ago)`
	aSize = `[0-9.]+ (?:B|KiB|MiB|bytes)`
)

// others are changes of a text that is a pattern already, and in which a point is thus \.
var others = []struct {
	find *regexp.Regexp
	want string
}{
	{regexp.MustCompile(`Portable Computing Language ?/.*`), `Portable Computing Language\s*/.*`},
	{regexp.MustCompile(`Portable Computing Language [0-9].*`), `Portable Computing Language [0-9].*`},
	{regexp.MustCompile(`\bnow\b|` + quoted(aTime) + ` ago\b`), anAge},
	{regexp.MustCompile(quoted(aTime) + `(\W|$)`), aTime + `${1}`},
	{regexp.MustCompile(`\\\([0-9.\\]+ % of ([0-9.\\]+ [MG]iB)\\\)`), `\([0-9.]+ % of ${1}\)`},
	{regexp.MustCompile(quoted(aSize) + `\b`), aSize},
	{regexp.MustCompile(`\b[0-9a-f]{12}\b`), `[0-9a-f]{12}`},
	{regexp.MustCompile(`\b[0-9a-f]{16}\b`), `[0-9a-f]{16}`},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), `[0-9a-f]{64}`},
	{regexp.MustCompile(`SHA256:[A-Za-z0-9+/…]+`), `SHA256:[A-Za-z0-9+/]+`},
	{regexp.MustCompile(`(?m)^[0-9]+  `), `[0-9]+  `}, // of processes
	{regexp.MustCompile(`/home/(?:me|you|u)\b`), `/\S+`},
	{regexp.MustCompile(`[ \t]+`), `\s+`},
	{regexp.MustCompile(`\n…\n`), "\n…"},
	{regexp.MustCompile(`^…\n`), `…`},
	{regexp.MustCompile(`…`), `(?s:.*)`},
	{regexp.MustCompile(`\n`), `\s*\n\s*`},
}

// quoted has a pattern match text in which points are \.
func quoted(pattern string) string { return strings.ReplaceAll(pattern, `[0-9.]`, `[0-9.\\]`) }

// shape returns what the whole output of a command has to match; … is anything.
func shape(want string) *regexp.Regexp {
	text := regexp.QuoteMeta(strings.TrimSpace(want))
	for _, o := range others {
		text = o.find.ReplaceAllString(text, o.want)
	}
	return regexp.MustCompile(`\A\s*` + text + `\s*\z`)
}

func TestShape(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		want, got string
		ok        bool
	}{
		{"built  vadd.cl  1174 ms, 79.7 KiB", "built   vadd.cl  9.2 s, 1 B\n", true},
		{"built  vadd.cl  1174 ms, 79.7 KiB", "built   vsub.cl  9.2 s, 1 B\n", false},
		{"1 entry", "2 entries\n1 entry\n", false},
		{"1 entry", "1 entry\nand more\n", false},
		{"…\n1 entry\n…", "2 entries\n1 entry\nand more\n", true},
		{"…\n1 entry", "1 entry", true},
		{"a\n…\nb", "a\nb", true},
		{"a\n…\nb", "a b", false},
		{"a\nb", "a b", false},
		{"saved 1 min 02 s today", "saved 310 ms today", true},
		{"saved 1 min 02 s today", "saved 3 today", false},
		{"1.17 s  now  vadd", "9.03 s   1.00 s ago   vadd", true},
		{"built 2 days ago for", "built 5 min 10 s ago for", true},
		{"built 2 days ago for", "built 5 min 10 s for", false},
		{"12 compiled in 1.17 s", "13 compiled in 1.17 s", false},
		{"(24.0 % of 5.00 GiB), 50.0 %", "(0.1 % of 5.00 GiB), 50.0 %", true},
		{"(24.0 % of 5.00 GiB), 50.0 %", "(0.1 % of 5.00 GiB), 51.0 %", false},
		{"a642c157b842 x", "0123456789ab x", true},
		{"1.5", "1x5", false},
		{"on Portable Computing Language/pthread", "on Portable Computing Language/cpu-znver", true},
		{"in /home/me/.cache/kernstash", "in /tmp/x/.cache/kernstash", true},
	} {
		if got := shape(tt.want).MatchString(tt.got); got != tt.ok {
			t.Errorf("%q is of the shape %q: %t", tt.got, tt.want, got)
		}
	}
}
