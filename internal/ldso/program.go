package ldso

import (
	"bufio"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Program is an executable file as far as the dynamic linker is concerned.
type Program struct {
	Path    string
	Static  bool   // there is no dynamic linker in it
	Linker  string // the dynamic linker that it wants; "" for none
	Class   elf.Class
	Machine elf.Machine
	Needed  []string // libraries that it is linked with
	RPath   []string // DT_RPATH, searched before LD_LIBRARY_PATH; empty where there is a DT_RUNPATH
	RunPath []string // DT_RUNPATH, searched after it
}

// Script is the error for a file that another program interprets.
type Script struct {
	Path        string
	Interpreter []string // and its argument, if there is one
}

func (s *Script) Error() string {
	return fmt.Sprintf("%s: a script for %s", s.Path, strings.Join(s.Interpreter, " "))
}

// Inspect reads what the file of a program says. The error is a *Script for a
// text that begins with #!.
func Inspect(path string) (*Program, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	if words := interpreter(f); words != nil {
		return nil, &Script{path, words}
	}
	p, err := parse(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	p.Path = path
	// The kernel gives $ORIGIN the file itself, links followed.
	origin := path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		origin = real
	}
	if origin, err = filepath.Abs(origin); err == nil {
		p.place(filepath.Dir(origin))
	}
	return p, nil
}

// maxLinker bounds the path of a dynamic linker.
const maxLinker = 4096

func parse(r io.ReaderAt) (_ *Program, err error) {
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, err
	}
	p := &Program{Static: true, Class: f.Class, Machine: f.Machine}
	for _, prog := range f.Progs {
		if prog.Type == elf.PT_INTERP {
			name := make([]byte, min(prog.Filesz, maxLinker))
			n, _ := prog.ReadAt(name, 0)
			p.Static, p.Linker = false, string(bytes.TrimRight(name[:n], "\x00"))
		}
	}
	if f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN {
		return nil, errors.New("not a program")
	}
	if p.Static {
		return p, nil
	}
	if p.Needed, err = f.ImportedLibraries(); err != nil {
		return nil, err
	}
	if p.RunPath, err = paths(f, elf.DT_RUNPATH); err != nil {
		return nil, err
	}
	if len(p.RunPath) == 0 {
		p.RPath, err = paths(f, elf.DT_RPATH)
	}
	return p, err
}

func paths(f *elf.File, tag elf.DynTag) ([]string, error) {
	texts, err := f.DynString(tag)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, t := range texts {
		all = append(all, strings.Split(t, ":")...)
	}
	return all, nil
}

// place writes a directory for $ORIGIN.
func (p *Program) place(origin string) {
	for _, list := range [][]string{p.RPath, p.RunPath} {
		for i, dir := range list {
			list[i] = strings.ReplaceAll(strings.ReplaceAll(dir, "${ORIGIN}", origin), "$ORIGIN", origin)
		}
	}
}

// interpreter returns the words after #!, nil where there are none.
func interpreter(r io.ReaderAt) []string {
	b := make([]byte, 256) // what the kernel reads
	n, _ := r.ReadAt(b, 0)
	line, _ := bufio.NewReader(strings.NewReader(string(b[:n]))).ReadString('\n')
	rest, ok := strings.CutPrefix(line, "#!")
	if !ok {
		return nil
	}
	name, arg, _ := strings.Cut(strings.TrimSpace(rest), " ")
	if name == "" {
		return nil
	}
	if arg = strings.TrimSpace(arg); arg != "" {
		return []string{name, arg}
	}
	return []string{name}
}
