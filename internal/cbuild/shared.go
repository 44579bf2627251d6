//go:build linux

package cbuild

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/kernstash/kernstash/internal/timing"
)

// folder is where the tests of all packages build: it is not under version control, and goes with make clean.
func folder(root string) (in string, err error) {
	in = filepath.Join(root, "lib", ".tests")
	return in, os.MkdirAll(in, 0o755)
}

// forAll has build put files into that folder, where it does nothing if they are up to date, and copies them, which
// it returns by their paths there, into the folder out. One process builds at a time, for each lock, and each
// has a copy, which nobody replaces while its tests run. Where there is no such folder all is built in out.
func forAll(root, lock, out string, build func(in string) (made []string, err error)) error {
	in, err := folder(root)
	var unlock func()
	if err == nil {
		unlock, err = locked(filepath.Join(in, lock))
	}
	if err != nil {
		_, err := build(out)
		return err
	}
	defer unlock()
	made, err := build(in)
	if err != nil {
		return err
	}
	// -a keeps links, and hurries where the file system shares what is equal.
	cp := exec.Command("cp", append([]string{"-a", "--parents", "-t", out}, made...)...)
	cp.Dir = in
	if log, err := cp.CombinedOutput(); err != nil {
		return fmt.Errorf("copy what was built: %w\n%s", err, log)
	}
	return nil
}

// locked waits for a lock among processes and threads. It holds until unlock.
func locked(path string) (unlock func(), err error) {
	lock, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return func() { lock.Close() }, nil
}

// libraries builds the libraries as they are installed, unless they are up to date.
func libraries(root, in string) (made []string, err error) {
	const files = "lib*.so*"
	stamp := filepath.Join(in, "made-of")
	of, unknown := sources(root)
	made, _ = fs.Glob(os.DirFS(in), files)
	if last, err := os.ReadFile(stamp); err == nil && unknown == nil && string(last) == of && len(made) > 0 {
		return made, nil
	}
	_ = os.Remove(stamp)
	if err := run(root, "the C library", filepath.Join(root, "capi", "build"), in); err != nil {
		return nil, err
	}
	if unknown == nil {
		_ = os.WriteFile(stamp, []byte(of), 0o600)
	}
	return fs.Glob(os.DirFS(in), files)
}

// run runs a command that builds something, in a folder.
func run(in, what, command string, args ...string) error {
	cmd := exec.Command(command, args...)
	cmd.Dir = in
	if log, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", what, err, log)
	}
	return nil
}

// sources says what the libraries are made of: the folder, all files but those of tests with
// their sizes and times, what the compilers are, and the environment that they obey. find lists
// the files: where a test itself looks at them, go has it depend on all.
func sources(root string) (string, error) {
	var of strings.Builder
	for _, name := range []string{"go", CC(), "make"} {
		path, err := exec.LookPath(name)
		if err != nil {
			return "", err
		}
		info, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&of, path, info.Size(), info.ModTime().UnixNano())
	}
	env, err := exec.Command("go", "env", "GOVERSION", "GOROOT", "GOFLAGS", "GOEXPERIMENT", "GOARCH", "GOAMD64", "GOARM64",
		"CC", "CGO_CFLAGS", "CGO_CPPFLAGS", "CGO_LDFLAGS").Output()
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&of, "%s", env)
	for _, v := range []string{"GO", "CC", "CFLAGS", "CPATH", "C_INCLUDE_PATH", "LIBRARY_PATH", "MAKE", "MAKEFLAGS"} {
		fmt.Fprintln(&of, v, os.Getenv(v))
	}
	find := exec.Command("find", root, "(", "-name", ".git", "-o", "-name", "testdata", "-o", "-path", filepath.Join(root, "lib"), ")", "-prune", "-o",
		"-type", "f", "!", "-name", "*_test.go", "-printf", "%p %s %T@ %C@\n")
	files, err := find.Output()
	if err != nil {
		return "", err
	}
	lines := strings.Split(string(files), "\n")
	slices.Sort(lines)
	of.WriteString(strings.Join(lines, "\n"))
	return of.String(), nil
}

// Shim puts builds of shim/SHIM, whose file is called name, into the folder out: the one
// that is installed, and for long tests (package timing), below out in the folders asan and
// tsan, those with sanitizers, which as the race detector are for these.
// As Library does it compiles once for all packages where nothing has changed.
func Shim(shim, name, out string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	dependOn(filepath.Join(root, "shim"))
	makes := func(files ...string) func(in string) ([]string, error) {
		return func(in string) ([]string, error) {
			args := []string{"-s", "-j2", "-C", filepath.Join(root, "shim", shim), "OUT=" + in}
			for _, file := range files {
				args = append(args, filepath.Join(in, file))
			}
			return files, run(root, "the shim "+shim, "make", args...)
		}
	}
	err = forAll(root, "lock", out, makes(name)) // among the libraries it is, too
	if err == nil && timing.IsLong() {
		err = forAll(root, "lock-"+shim, out, makes("asan/"+name, "tsan/"+name))
	}
	return err
}

// Command puts the command kernstash into the file out. As Library does it is built once for
// all packages where nothing has changed.
func Command(out string) error {
	return command(out, "lock-command", "./cmd/kernstash")
}

// CompileCommand is Command for the part that compilers are started through.
func CompileCommand(out string) error {
	return command(out, "lock-compile", "./cmd/kernstash/kernstash-compile")
}

func command(out, lock, pkg string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	dir, name := filepath.Split(out)
	return forAll(root, lock, dir, func(in string) ([]string, error) {
		return []string{name}, run(root, "the command", "go", "build", "-o", filepath.Join(in, name), pkg)
	})
}

// Digests has a cache that a test is about to make begin with the digests of compilers that the
// processes of earlier tests have read (docs/decisions/030), and keeps those that are new. Without
// it the first process of each cache reads hundreds of megabytes. root lies in a directory of the test.
func Digests(t testing.TB, root string) {
	t.Helper()
	module, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	in, err := folder(module)
	if err != nil {
		return
	}
	// A test that looked at the kept file itself would depend on it (see dependOn).
	script := func(text string) {
		cmd := exec.Command("sh", "-euc", text, "sh", filepath.Join(in, "digests"), filepath.Join(root, ".meta"), os.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("digests of %s: %v\n%s", root, err, out)
		}
	}
	script(`umask 077; mkdir -p "$2"; cp "$1" "$2/files" 2>/dev/null || rm -f "$2/files"`)
	t.Cleanup(func() {
		script(`size() { stat -c %s "$1" 2>/dev/null || echo 0; }
			if [ "$(size "$2/files")" -gt "$(size "$1")" ] && ! grep -qF " $3/" "$2/files"; then
				cp "$2/files" "$1.$$" && mv "$1.$$" "$1"
			fi`)
	})
}
