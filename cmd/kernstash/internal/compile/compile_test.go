//go:build linux

package compile_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/compile"
	"github.com/kernstash/kernstash/internal/needs"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
)

// TestMain is the command in processes of the tests.
func TestMain(m *testing.M) {
	if os.Getenv("TEST_COMPILE_CHILD") == "" {
		os.Exit(m.Run())
	}
	status, err := compile.Run(&cli.App{Out: os.Stdout, Err: os.Stderr}, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(status)
}

// ptxas returns the real one: bin/ptxas, or one in the path.
func ptxas(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../../../bin/ptxas")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if path, err = exec.LookPath("ptxas"); err != nil {
		needs.Missing(t, "there is no ptxas", "nvidia-cuda-toolkit, or take ptxas out of it as scripts/drivers does")
	}
	return path
}

// compileTime is what ptxas says with --verbose since 12.8.
var compileTime = regexp.MustCompile(`Compile time = [0-9.]+ ms`)

// ran is what became of a process.
type ran struct {
	Status           int
	Stdout, Messages string
}

// place is a working directory, and a cache.
type place struct {
	t          *testing.T
	dir, cache string
	env        []string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{t: t, dir: t.TempDir(), cache: filepath.Join(t.TempDir(), "cache")}
	p.write("k.ptx", kernel)
	return p
}

func (p *place) write(name, text string) {
	p.t.Helper()
	if err := needs.WriteProgram(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) read(name string) string {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

func (p *place) command(name string, args []string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = p.dir
	cmd.Env = append(append(os.Environ(), "KERNSTASH_DIR="+p.cache), p.env...)
	return cmd
}

// served runs a compiler with the cache.
func (p *place) served(args ...string) ran {
	p.t.Helper()
	cmd := p.command(os.Args[0], args)
	cmd.Env = append(cmd.Env, "TEST_COMPILE_CHILD=1")
	return p.run(cmd)
}

// together runs a compiler 16 times at once, each with an output behind its arguments, which are alike: one compiles.
func (p *place) together(args ...string) {
	p.t.Helper()
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			if r := p.served(append(slices.Clone(args), fmt.Sprint(i))...); r.Status != 0 {
				p.t.Errorf("%+v", r)
			}
		})
	}
	all.Wait()
	p.wantCounts(1, 15)
	for i := range 16 {
		if p.read(fmt.Sprint(i)) != p.read("0") {
			p.t.Errorf("output %d is another one", i)
		}
	}
}

// begun starts a compiler with the cache, and waits until it has written "on" and a line feed. out is the rest.
func (p *place) begun(args ...string) (cmd *exec.Cmd, out io.Reader) {
	p.t.Helper()
	cmd = p.command(os.Args[0], args)
	cmd.Env = append(cmd.Env, "TEST_COMPILE_CHILD=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 3)); err != nil {
		p.t.Fatal(err)
	}
	return cmd, out
}

// wantEnd waits for one that was begun, which is to end by a signal, and nothing is found of it.
func (p *place) wantEnd(cmd *exec.Cmd, want syscall.Signal) {
	p.t.Helper()
	_ = cmd.Wait()
	if w := cmd.ProcessState.Sys().(syscall.WaitStatus); !w.Signaled() || w.Signal() != want {
		p.t.Errorf("ended with %v, want %v", cmd.ProcessState, want)
	}
	p.wantFound(0)
}

func (p *place) wantFound(want int64) {
	p.t.Helper()
	if _, found := p.counts(); found != want {
		p.t.Errorf("%d found, want %d", found, want)
	}
}

// wantServed runs a compiler twice with the cache, each time as it would end without.
func (p *place) wantServed(want ran, args ...string) {
	p.t.Helper()
	for range 2 {
		if d := cmp.Diff(want, p.served(args...)); d != "" {
			p.t.Errorf("(-want +got):\n%s", d)
		}
	}
}

// wantNoTrouble does that where messages may be more; its output is called out.
func (p *place) wantNoTrouble(args ...string) {
	p.t.Helper()
	want := p.plain(args...)
	object := p.read("out")
	for range 2 {
		got := p.served(args...)
		if got.Status != want.Status || got.Stdout != want.Stdout || p.read("out") != object {
			p.t.Errorf("%+v, want %+v", got, want)
		}
	}
}

func (p *place) plain(args ...string) ran {
	p.t.Helper()
	return p.run(p.command(args[0], args[1:]))
}

func (p *place) run(cmd *exec.Cmd) ran {
	p.t.Helper()
	var out, messages bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(kernel), &out, &messages
	if err := cmd.Run(); cmd.ProcessState == nil {
		p.t.Error(err)
		return ran{}
	}
	return ran{cmd.ProcessState.ExitCode(), out.String(), compileTime.ReplaceAllString(messages.String(), "Compile time")}
}

// counts returns how many programs were compiled in processes with the cache, and how many found.
func (p *place) counts() (compiled, found int64) {
	p.t.Helper()
	d := disk.New(disk.Options{Dir: p.cache})
	defer d.Close()
	s, err := d.Stats()
	if err != nil {
		p.t.Fatal(err)
	}
	return int64(s.Get(stats.Builds)), int64(s.Get(stats.DiskHits))
}

func (p *place) wantCounts(compiled, found int64) {
	p.t.Helper()
	if c, f := p.counts(); c != compiled || f != found {
		p.t.Errorf("%d compiled, %d found, want %d and %d", c, f, compiled, found)
	}
}

const kernel = `.version 7.0
.target sm_80
.address_size 64
.visible .entry add(.param .u64 a)
{
	.reg .b64 %rd<3>;
	.reg .b32 %r<3>;
	ld.param.u64 %rd1, [a];
	cvta.to.global.u64 %rd2, %rd1;
	ld.global.u32 %r1, [%rd2];
	add.s32 %r2, %r1, 1;
	st.global.u32 [%rd2], %r2;
	ret;
}
`

// TestPTXASOptions: with each option of the table what is written, said and answered is what
// ptxas writes, says and answers, where it runs and where it does not. All ways to write an option
// share a cache: what one has kept is not taken for that of another, which this version may refuse.
func TestPTXASOptions(t *testing.T) {
	t.Parallel()
	tool := ptxas(t)
	arguments := map[string]string{
		"--opt-level": "1", "--machine": "64", "--allow-expensive-optimizations": "false", "--def-load-cache": "cg",
		"--def-store-cache": "wt", "--device-function-maxrregcount": "32", "--entry": "add", "--fmad": "false",
		"--force-load-cache": "cg", "--force-store-cache": "cg", "--maxntid": "128", "--maxrregcount": "32",
		"--minnctapersm": "2", "--position-independent-code": "true", "--register-usage-level": "3", "--gpu-name": "sm_86",
	}
	for i, names := range slices.Concat(compile.PTXASOptions.Valued, compile.PTXASOptions.Flags) {
		t.Run(names[0], func(t *testing.T) {
			t.Parallel()
			p, kept := newPlace(t), int64(0)
			for _, name := range names {
				ways := [][]string{{name}}
				if i < len(compile.PTXASOptions.Valued) {
					ways = [][]string{{name + "=" + arguments[names[0]]}, {name, arguments[names[0]]}}
				}
				for _, way := range ways {
					if names[0] == "--output-file" {
						if kept > 0 {
							continue
						}
						way = nil
					}
					args := append(append([]string{tool}, way...), "k.ptx", "-o")
					if names[0] != "--gpu-name" {
						args = append([]string{tool, "-arch=sm_80"}, args[1:]...)
					}
					want := p.plain(append(args, "want")...)
					miss := p.served(append(args, "miss")...)
					hit := p.served(append(args, "hit")...)
					if want.Status != 0 {
						// This version has no such option, or not in this way.
						if d := cmp.Diff(want, miss); d != "" {
							t.Errorf("%q fails otherwise (-want +got):\n%s", way, d)
						}
						continue
					}
					if d := cmp.Diff([]ran{want, want}, []ran{miss, hit}); d != "" {
						t.Errorf("%q: miss, hit (-want +got):\n%s", way, d)
					}
					if p.read("miss") != p.read("want") || p.read("hit") != p.read("want") {
						t.Errorf("%q: another output", way)
					}
					kept++
				}
			}
			if _, found := p.counts(); found != kept {
				t.Errorf("%d found, want %d: once each way that this version takes", found, kept)
			}
		})
	}
}

// TestUntouched: what is not sure to be a plain compile goes to the compiler, and nothing is kept.
func TestUntouched(t *testing.T) {
	t.Parallel()
	tool := ptxas(t)
	for name, test := range map[string]struct {
		args []string
		env  string
	}{
		"version":           {args: []string{"--version"}},
		"no output":         {args: []string{"-arch=sm_80", "k.ptx"}},
		"two inputs":        {args: []string{"-arch=sm_80", "k.ptx", "l.ptx", "-o", "o"}},
		"options in a file": {args: []string{"-optf", "options", "k.ptx", "-o", "o"}},
		"unknown option":    {args: []string{"-arch=sm_80", "--frobnicate", "k.ptx", "-o", "o"}},
		"no argument":       {args: []string{"-arch=sm_80", "-O", "3", "k.ptx", "-o", "o"}},
		"standard input":    {args: []string{"-arch=sm_80", "-", "-o", "o"}},
		"a pipe":            {args: []string{"-arch=sm_80", "/dev/stdin", "-o", "o"}},
		"no input":          {args: []string{"-arch=sm_80", "none.ptx", "-o", "o"}},
		"wrong input":       {args: []string{"-arch=sm_80", "options", "-o", "o"}},
		"switched off":      {args: []string{"-arch=sm_80", "k.ptx", "-o", "o"}, env: "KERNSTASH_DISABLE=1"},
		"knobs":             {args: []string{"-arch=sm_80", "k.ptx", "-o", "o"}, env: "DUMP_KNOBS_TO_FILE=knobs"},
		"a switch of 13.0":  {args: []string{"-arch=sm_80", "k.ptx", "-o", "o"}, env: "CAN_FINALIZE_DEBUG=1"},
		"device debug":      {args: []string{"-arch=sm_80", "-g", "k.ptx", "-o", "o"}},
		"to a device":       {args: []string{"-arch=sm_80", "k.ptx", "-o", "/dev/null"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write("l.ptx", kernel)
			p.write("options", "-arch=sm_80")
			if test.env != "" {
				p.env = []string{test.env}
			}
			args := append([]string{tool}, test.args...)
			p.wantServed(p.plain(args...), args...)
			p.wantFound(0)
		})
	}
}

// TestInputs: what decides the output of ptxas decides what is found.
func TestInputs(t *testing.T) {
	t.Parallel()
	tool := ptxas(t)
	named := strings.Replace(strings.Replace(kernel, ".visible", ".file 1 \"h.cu\"\n.visible", 1), "ld.param", ".loc 1 3 1\nld.param", 1)
	other := func(p *place) string {
		b, err := os.ReadFile(tool)
		if err != nil {
			p.t.Fatal(err)
		}
		path := filepath.Join(p.dir, "ptxas")
		if err := needs.WriteProgram(path, append(b, 0), 0o700); err != nil {
			p.t.Fatal(err)
		}
		return path
	}
	script := func(p *place) string {
		path := filepath.Join(p.dir, "ptxas")
		if err := needs.WriteProgram(path, []byte("#!/bin/sh\nexec "+tool+" \"$@\"\n"), 0o700); err != nil {
			p.t.Fatal(err)
		}
		return path
	}
	old := time.Now().Add(-time.Hour)
	for name, test := range map[string]struct {
		change func(p *place)
		tool   func(p *place) string
		found  int64
	}{
		"nothing":             {change: func(*place) {}, found: 1},
		"the input's place":   {change: func(p *place) { p.write("k.ptx", named); os.Chtimes(filepath.Join(p.dir, "k.ptx"), old, old) }, found: 1},
		"the input":           {change: func(p *place) { p.write("k.ptx", strings.Replace(named, "%r1, 1", "%r1, 2", 1)) }},
		"a named file's time": {change: func(p *place) { os.Chtimes(filepath.Join(p.dir, "h.cu"), old, old) }},
		"a named file's size": {change: func(p *place) { p.write("h.cu", "more than before") }},
		"no named file":       {change: func(p *place) { os.Remove(filepath.Join(p.dir, "h.cu")) }},
		"another ptxas":       {change: func(*place) {}, tool: other},
		"a script":            {change: func(*place) {}, tool: script},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write("k.ptx", named)
			p.write("h.cu", "// 1")
			compiler := tool
			p.served(compiler, "-arch=sm_80", "-lineinfo", "k.ptx", "-o", "before")
			p.wantCounts(1, 0)
			if test.tool != nil {
				compiler = test.tool(p)
			}
			test.change(p)
			want := p.plain(compiler, "-arch=sm_80", "-lineinfo", "k.ptx", "-o", "want")
			got := p.served(compiler, "-arch=sm_80", "-lineinfo", "k.ptx", "-o", "got")
			if d := cmp.Diff(want, got); d != "" || p.read("want") != p.read("got") {
				t.Errorf("another output, or (-want +got):\n%s", d)
			}
			p.wantFound(test.found)
		})
	}
}

// TestMessagesNameTheInput: a message with the name of its input has that of each run.
func TestMessagesNameTheInput(t *testing.T) {
	t.Parallel()
	tool := ptxas(t)
	p := newPlace(t)
	p.write("k.ptx", strings.NewReplacer("sm_80", "sm_60", "7.0", "6.0", "ret;", "shfl.down.b32 %r2, %r1, 1, 31;\n\tret;").Replace(kernel))
	if err := os.Mkdir(filepath.Join(p.dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.write("d/other.ptx", p.read("k.ptx"))
	p.served(tool, "-arch=sm_60", "k.ptx", "-o", "o")
	want := p.plain(tool, "-arch=sm_60", "d/other.ptx", "-o", "want")
	if want.Status != 0 {
		t.Skip("NOT RUN: this ptxas knows no sm_60, with which it warns of what is deprecated")
	}
	if !strings.Contains(want.Messages, "d/other.ptx") {
		t.Fatalf("ptxas says nothing of it: %q", want.Messages)
	}
	if d := cmp.Diff(want, p.served(tool, "-arch=sm_60", "d/other.ptx", "-o", "got")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	p.wantCounts(1, 1)
}

// TestTogether: of many processes one compiles.
func TestTogether(t *testing.T) {
	t.Parallel()
	newPlace(t).together(ptxas(t), "-arch=sm_80", "k.ptx", "-o")
}

// TestTroubleOfTheCache is none of the compiler's.
func TestTroubleOfTheCache(t *testing.T) {
	t.Parallel()
	tool := ptxas(t)
	for name, spoil := range map[string]func(p *place) error{
		"a file in its place": func(p *place) error { return os.WriteFile(p.cache, nil, 0o600) },
		"others may write":    func(p *place) error { return os.Mkdir(p.cache, 0o777) },
		"read-only":           func(p *place) error { p.env = append(p.env, "KERNSTASH_MODE=read-only"); return nil },
		"a wrong setting":     func(p *place) error { p.env = append(p.env, "KERNSTASH_MAX_SIZE=much"); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			if err := spoil(p); err != nil {
				t.Fatal(err)
			}
			p.wantNoTrouble(tool, "-arch=sm_80", "k.ptx", "-o", "out")
		})
	}
}

// fake returns a program that is called ptxas, and runs a body of C.
func fake(t *testing.T, body string) string {
	t.Helper()
	return fakeWith(t, "ptxas", "#include <signal.h>\n#include <stdio.h>\n#include <unistd.h>\n", body)
}

// fakeWith returns a program of a name, with what stands before its main function.
func fakeWith(t *testing.T, name, before, body string) string {
	t.Helper()
	cc, dir := needs.Tool(t, "cc", "gcc"), t.TempDir()
	path, source := filepath.Join(dir, name), filepath.Join(dir, "fake.c")
	if err := os.WriteFile(source, []byte(before+"int main(void)\n{\n"+body+"\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-o", path, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// TestSignals: what ends us ends the compiler, and the other way round; nothing is kept of it.
func TestSignals(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body string
		send []syscall.Signal
		want syscall.Signal
	}{
		"sent to us":           {`puts("on"); fflush(stdout); pause(); return 0;`, []syscall.Signal{syscall.SIGTERM}, syscall.SIGTERM},
		"an interrupt, alone":  {`puts("on"); fflush(stdout); pause(); return 0;`, []syscall.Signal{syscall.SIGINT}, syscall.SIGINT},
		"one after the other":  {`signal(SIGINT, SIG_IGN); puts("on"); fflush(stdout); pause(); return 0;`, []syscall.Signal{syscall.SIGINT, syscall.SIGINT, syscall.SIGTERM}, syscall.SIGTERM},
		"the compiler crashes": {`puts("on"); fflush(stdout); raise(SIGSEGV); return 0;`, nil, syscall.SIGSEGV},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			cmd, out := p.begun(fake(t, test.body), "-arch=sm_80", "k.ptx", "-o", "o")
			for _, s := range test.send {
				if err := cmd.Process.Signal(s); err != nil {
					t.Fatal(err)
				}
			}
			// The pipe is the compiler's, too: its end is read when that has ended.
			if _, err := io.ReadAll(out); err != nil {
				t.Error(err)
			}
			p.wantEnd(cmd, test.want)
		})
	}
}

// TestWhatIsNotKept: what a compiler makes that is not understood is its caller's, and not kept.
func TestWhatIsNotKept(t *testing.T) {
	t.Parallel()
	const writes = `FILE *f = fopen("o", "w"); fputs("code", f); fclose(f); `
	for name, test := range map[string]struct {
		body string
		want ran
	}{
		"it writes to standard output":  {writes + `puts("x"); return 0;`, ran{0, "x\n", ""}},
		"its messages name the input":   {writes + `fputs("why k.ptx\n", stderr); return 0;`, ran{0, "", "why k.ptx\n"}},
		"its output names the input":    {`FILE *f = fopen("o", "w"); fputs("k.ptx -o o", f); fclose(f); return 0;`, ran{}},
		"it changes its input":          {writes + `f = fopen("k.ptx", "a"); fputs(" ", f); fclose(f); return 0;`, ran{}},
		"it writes to another file":     {`FILE *f = fopen("other", "w"); fputs("code", f); fclose(f); return 0;`, ran{}},
		"it fails though it has output": {writes + `return 3;`, ran{Status: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.wantServed(test.want, fake(t, test.body), "-arch=sm_80", "k.ptx", "-o", "o")
			p.wantFound(0)
		})
	}
}
