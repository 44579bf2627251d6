package compilers

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/compile"
	"github.com/kernstash/kernstash/internal/human"
)

// linked is the variable with the compilers that links have led to: a script among them that calls the
// compiler by its name comes to the one behind it, and never back.
const linked = "KERNSTASH_LINKED"

// Step runs a compiler with the cache if that is what the command is called as, through a link, or called for in the
// words that programs are led here with, for which no other command is made. ours is false for all other arguments.
func Step(args []string) (status int, ours bool) {
	run, a := behind, &cli.App{Out: os.Stdout, Err: os.Stderr}
	if !slices.Contains(compile.Names(), filepath.Base(args[0])) {
		if len(args) < 4 || args[1] != "compile" || args[2] != "--" {
			return 0, false
		}
		run, args = Run, args[3:]
	}
	status, err := run(a, args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "kernstash: %s\n", human.Printable(err.Error(), true))
	}
	return status, true
}

// Run is compile.Run, but that a link to the command is not taken for a compiler.
func Run(a *cli.App, args []string) (status int, err error) {
	if !slices.Contains(compile.Names(), filepath.Base(args[0])) {
		return compile.Run(a, args)
	}
	if program, err := exec.LookPath(args[0]); err != nil || !isOurs(program) {
		return compile.Run(a, args)
	}
	return behind(a, args)
}

// behind runs the next program in PATH that is called as args[0] and is not the command. Its first argument is
// its own path, as nvcc looks for its parts there.
func behind(a *cli.App, args []string) (status int, err error) {
	program, err := next(filepath.Base(args[0]), os.Getenv("PATH"), filepath.SplitList(os.Getenv(linked)))
	if err != nil {
		return 127, err
	}
	if err := os.Setenv(linked, strings.TrimPrefix(os.Getenv(linked)+string(filepath.ListSeparator)+program, string(filepath.ListSeparator))); err != nil {
		return 126, err
	}
	return compile.Run(a, append([]string{program}, args[1:]...))
}

// next returns the absolute path of the first program of a name that is not the command, nor one of some others.
func next(name, path string, others []string) (program string, err error) {
	program, err = cli.FindCommand(name, path, func(file string) bool {
		abs, err := filepath.Abs(file)
		return err != nil || isOurs(file) || slices.Contains(others, abs)
	})
	if err != nil {
		return "", fmt.Errorf("%w: in PATH is but a link to kernstash", err)
	}
	return filepath.Abs(program)
}

// isOurs reports whether a program is the command, under whatever name: itself, what stands before it, or a copy.
func isOurs(file string) bool {
	info, err := os.Stat(file)
	if err != nil {
		return false
	}
	for _, find := range []func() (string, error){os.Executable, cli.CommandPath} {
		if path, err := find(); err == nil {
			if own, err := os.Stat(path); err == nil && os.SameFile(info, own) {
				return true
			}
		}
	}
	const most = 4 << 20 // the launcher is small, and compilers are large
	if info.Mode().IsRegular() && info.Size() < most {
		if b, err := os.ReadFile(file); err == nil && bytes.HasPrefix(b, []byte(elf.ELFMAG)) && bytes.Contains(b, []byte(cli.WholeName)) {
			return true
		}
	}
	f, err := elf.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	if f.Section(".go.buildinfo") == nil {
		return false
	}
	build, err := buildinfo.ReadFile(file)
	return err == nil && build.Main.Path == "github.com/kernstash/kernstash"
}

// placed are compilers by whose place in PATH programs find others: with a link before it PyTorch, FlashInfer and
// DeepGEMM would take another directory for that of CUDA.
var placed = []string{"nvcc"}

// Link makes links to the command in a directory, named after compilers, and returns their paths.
func Link(dir string) (made []string, err error) {
	command, err := cli.CommandPath()
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return nil, err
	}
	for _, name := range compile.Names() {
		if slices.Contains(placed, name) {
			continue
		}
		path := filepath.Join(dir, name)
		if target, linkErr := os.Readlink(path); linkErr == nil && target != command && filepath.Base(target) == filepath.Base(command) {
			_ = os.Remove(path) // to the command where it was before
		}
		if err := os.Symlink(command, path); err != nil && (!errors.Is(err, fs.ErrExist) || !isOurs(path)) {
			return made, err
		}
		made = append(made, path)
	}
	return made, nil
}
