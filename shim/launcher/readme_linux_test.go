package launcher

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// block is a part of README that is to be run, or compiled.
type block struct {
	kind string // what the fence says: console, sh, go
	text string
}

func readmeBlocks(t *testing.T, path string) (all []block) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	open := false
	for line := range strings.Lines(string(b)) {
		kind, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && !open:
			all, open = append(all, block{kind: strings.TrimSpace(kind)}), true
		case fence:
			open = false
		case open:
			all[len(all)-1].text += line
		}
	}
	return all
}

// TestReadme runs each block of README as a new user with an installation, and compiles and runs the Go program. What `make demo` and `make test` do is
// scripts/bare's to see, which reads them out of README as well.
func TestReadme(t *testing.T) {
	t.Parallel()
	prefix, root := built(t)
	vadd, err := os.ReadFile(filepath.Join(root, "cmd", "kernstash", "internal", "demo", "programs", "kernels", "vadd.cl"))
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, block := range readmeBlocks(t, filepath.Join(root, "README.md")) {
		r := reader{t: t, root: root, home: t.TempDir(), bin: filepath.Join(prefix, "bin")}
		r.write("vadd.cl", string(vadd))
		switch {
		case strings.HasPrefix(block.text, "$ make demo\n"), strings.HasPrefix(block.text, "make demo "):
			continue // scripts/bare
		case block.kind == "console":
			r.console(block.text)
		case block.kind == "go":
			r.program(block.text)
		default:
			t.Errorf("README has a block that nothing runs:\n%s", block.text)
		}
		ran++
	}
	if ran < 3 {
		t.Errorf("README shows %d blocks", ran)
	}
}

// reader is a user who does what README says.
type reader struct {
	t               *testing.T
	root, home, bin string
}

func (r *reader) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.home, name), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *reader) environ() []string {
	return []string{
		"PATH=" + r.bin + ":" + os.Getenv("PATH"), "HOME=" + r.home, "POCL_CACHE_DIR=" + filepath.Join(r.home, "pocl"),
		"LANG=C.UTF-8",
	}
}

// console runs the commands of a block, and compares what they say with what stands there.
func (r *reader) console(text string) {
	r.t.Helper()
	for _, part := range strings.Split("\n"+text, "\n$ ")[1:] {
		line, want, _ := strings.Cut(part, "\n")
		if program := strings.Fields(strings.TrimPrefix(line, "kernstash run -- "))[0]; program != "kernstash" {
			if _, err := exec.LookPath(program); err != nil {
				r.t.Errorf("README's %q needs %s, which 'make drivers-test' installs", line, program)
				return
			}
		}
		cmd := exec.Command("sh", "-c", line)
		cmd.Env, cmd.Dir = r.environ(), r.home
		out, err := cmd.CombinedOutput()
		if err != nil {
			r.t.Errorf("%s: %v\n%s", line, err, out)
			return
		}
		if pattern := shape(want); !pattern.Match(out) {
			r.t.Errorf("%s says\n%s\nREADME says\n%s\n(%s)", line, out, want, pattern)
		}
	}
}

var (
	blanks   = regexp.MustCompile(`[ \t]+`)
	entryKey = regexp.MustCompile(`\b[0-9a-f]{12}\b`)
	device   = regexp.MustCompile(`Portable Computing Language/.*`)
)

// shape returns what the output of a command has to match: times, sizes, keys and devices
// are others, and … is anything.
func shape(want string) *regexp.Regexp {
	text := regexp.QuoteMeta(strings.TrimSpace(want))
	unquoted := func(find *regexp.Regexp, to string) {
		text = find.ReplaceAllLiteralString(text, to)
	}
	unquoted(regexp.MustCompile(`[0-9]+(\\\.[0-9]+)? (ns|µs|ms|s|B|KiB|MiB)\b`), `[0-9.]+ (ns|µs|ms|s|B|KiB|MiB)`)
	unquoted(entryKey, `[0-9a-f]{12}`)
	unquoted(device, `Portable Computing Language/.*`)
	unquoted(blanks, `\s+`)
	unquoted(regexp.MustCompile(`…`), `(?s:.*)`)
	unquoted(regexp.MustCompile(`\n`), `\s*`)
	return regexp.MustCompile(`(?m)` + text)
}

// program compiles a program and runs it twice: the second start compiles nothing.
func (r *reader) program(text string) {
	r.t.Helper()
	file := filepath.Join(r.home, "main.go")
	r.write("main.go", text)
	program := filepath.Join(r.home, "program")
	build := exec.Command("go", "build", "-o", program, file)
	build.Dir = r.root
	build.Env = append(os.Environ(), cgo()...)
	if out, err := build.CombinedOutput(); err != nil {
		r.t.Fatalf("README's program: %v\n%s", err, out)
	}
	for _, want := range []string{"compiled: 1\n", "compiled: 0\n"} {
		cmd := exec.Command(program)
		cmd.Env, cmd.Dir = r.environ(), r.home
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
			r.t.Errorf("README's program: %v, says %q, want %q", err, out, want)
		}
	}
}

// TestSystemdRecipe runs what docs/COMMAND.md and docs/DEPLOY.md have systemd run, in the environment that a
// service of the system has.
func TestSystemdRecipe(t *testing.T) {
	t.Parallel()
	prefix, root := built(t)
	for _, name := range []string{"COMMAND.md", "DEPLOY.md"} {
		systemdRecipe(t, prefix, filepath.Join(root, "docs", name))
	}
}

func systemdRecipe(t *testing.T, prefix, document string) {
	t.Helper()
	for _, b := range readmeBlocks(t, document) {
		if b.kind != "ini" || !strings.Contains(b.text, "ExecStopPost=") {
			continue
		}
		caches := t.TempDir()
		cmd := exec.Command("sh")
		cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
		var mode uint64
		for line := range strings.Lines(b.text) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			value = strings.ReplaceAll(value, "%C", caches)
			switch name {
			case "Environment":
				cmd.Env = append(cmd.Env, value)
			case "CacheDirectoryMode":
				mode, _ = strconv.ParseUint(value, 8, 32)
			case "CacheDirectory":
				if err := os.Mkdir(filepath.Join(caches, value), 0o700); err != nil {
					t.Fatal(err)
				}
			case "ExecStopPost":
				value, may := strings.CutPrefix(value, "-")
				if !may {
					t.Errorf("%s: a worker that fails makes the service fail", document)
				}
				cmd.Args = append(cmd.Args, "-c", strings.Replace(value, "/usr/bin/", filepath.Join(prefix, "bin")+"/", 1))
			}
		}
		if out, err := cmd.CombinedOutput(); err != nil || mode != 0o700 {
			t.Errorf("mode %04o: %v\n%s", mode, err, out)
		}
		return
	}
	t.Errorf("%s: there is no recipe", document)
}
