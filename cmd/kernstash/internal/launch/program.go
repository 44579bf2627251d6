package launch

import (
	"bytes"
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
)

// program is an executable file as far as the dynamic linker is concerned.
type program struct {
	static  bool   // there is no dynamic linker in it
	linker  string // the dynamic linker that it wants; "" for none
	class   elf.Class
	machine elf.Machine
	needed  []string // libraries that it is linked with
}

// Target is what is to be known of a command before it runs.
type Target struct {
	File    string // of the command
	Script  string // what interprets it, if it is a script; the program is that one
	SetID   bool   // it runs with rights that the user has not
	program *program
}

// Look finds out about a command. Whatever it cannot find out stays open.
func Look(file string) Target {
	t := Target{File: file, SetID: setID(file)}
	const most = 4 // interpreters of interpreters
	at := file
	for range most {
		p, interpreter, err := inspect(at)
		if err != nil {
			return t
		}
		if interpreter == "" {
			t.program = p
			return t
		}
		at, t.Script = interpreter, interpreter
		t.SetID = setID(at) // a script has no rights of its own
	}
	return t
}

// inspect reads what the file of a program says; of a script it returns the interpreter.
func inspect(path string) (p *program, interpreter string, err error) {
	b, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // of a pipe, too, it waits for nobody
	if err != nil {
		return nil, "", err
	}
	defer b.Close()
	if info, err := b.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, "", cmp.Or(err, fs.ErrInvalid)
	}
	head := make([]byte, 256) // what the kernel reads
	n, _ := b.ReadAt(head, 0)
	if line, ok := bytes.CutPrefix(head[:n], []byte("#!")); ok {
		line, _, _ = bytes.Cut(line, []byte("\n"))
		if words := strings.Fields(string(line)); len(words) > 0 {
			return nil, words[0], nil
		}
	}
	f, err := elf.NewFile(b)
	if err != nil {
		return nil, "", err
	}
	p = &program{static: true, class: f.Class, machine: f.Machine}
	for _, prog := range f.Progs {
		if prog.Type == elf.PT_INTERP {
			name := make([]byte, min(prog.Filesz, 4096)) // no path is longer
			n, _ := prog.ReadAt(name, 0)
			p.static, p.linker = false, string(bytes.TrimRight(name[:n], "\x00"))
		}
	}
	if !p.static {
		p.needed, err = f.ImportedLibraries()
	}
	return p, "", err
}

// fits reports whether our libraries are for the machine that the command is for.
func (t Target) fits() bool {
	if t.program == nil {
		return true
	}
	machine, known := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
	return !known || t.program.class == elf.ELFCLASS64 && t.program.machine == machine
}

// preloads reports whether something may be preloaded into the command: the dynamic linker of a
// program for another machine complains on standard error, and musl's refuses to start, as do
// programs with an address sanitizer that is not the first library of all, and all where the stack is too small.
func (t Target) preloads() bool {
	sanitizer := func(library string) bool {
		return strings.HasPrefix(library, "libasan.so") || strings.HasPrefix(library, "libclang_rt.asan")
	}
	return hasStack() && t.fits() && (t.program == nil ||
		!strings.Contains(filepath.Base(t.program.linker), "musl") && !slices.ContainsFunc(t.program.needed, sanitizer))
}

// kindOf names a program's machine for people.
func kindOf(p *program) string {
	bits := 64
	if p.class == elf.ELFCLASS32 {
		bits = 32
	}
	return fmt.Sprintf("a %d-bit program (%s)", bits, strings.TrimPrefix(p.machine.String(), "EM_"))
}

// cannotStart returns the error for a command that cannot be started, with the status of shells.
func cannotStart(err error) error {
	status := 126
	if errors.Is(err, fs.ErrNotExist) {
		status = 127
	}
	return &cli.StatusError{Status: status, Err: fmt.Errorf("run: %w", err)}
}
