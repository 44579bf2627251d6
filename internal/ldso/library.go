package ldso

import (
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
)

// System is where libraries are looked for besides where a program says.
type System struct {
	Cache string // ld.so.cache
	Root  string // before the default directories; "" but in tests
}

// Here is this machine.
var Here = System{Cache: "/etc/ld.so.cache"}

// Library returns the file that a library's name leads to in a program, "" where
// it leads to none. libraryPath is LD_LIBRARY_PATH.
func (s System) Library(p *Program, name, libraryPath string) string {
	var dirs []string
	dirs = append(dirs, p.RPath...)
	dirs = append(dirs, strings.FieldsFunc(libraryPath, func(r rune) bool { return r == ':' || r == ';' })...)
	dirs = append(dirs, p.RunPath...)
	for _, dir := range dirs {
		if file := filepath.Join(dir, name); dir != "" && isFor(file, p) {
			return file
		}
	}
	if file := s.cached(p, name); file != "" && isFor(file, p) {
		return file
	}
	for _, dir := range defaults(p) {
		if file := filepath.Join(s.Root, dir, name); isFor(file, p) {
			return file
		}
	}
	return ""
}

// isFor says whether a file is a library for the program's machine: the dynamic
// linker passes others over.
func isFor(file string, p *Program) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	var b [20]byte
	if n, _ := f.ReadAt(b[:], 0); n < len(b) || string(b[:4]) != elf.ELFMAG {
		return false
	}
	machine := elf.Machine(b[18]) | elf.Machine(b[19])<<8
	if elf.Data(b[5]) == elf.ELFDATA2MSB {
		machine = elf.Machine(b[19]) | elf.Machine(b[18])<<8
	}
	return elf.Class(b[4]) == p.Class && machine == p.Machine
}

// defaults are the directories that are built into dynamic linkers: Debian's
// and others'.
func defaults(p *Program) []string {
	var dirs []string
	switch p.Machine {
	case elf.EM_X86_64:
		dirs = []string{"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"}
	case elf.EM_AARCH64:
		dirs = []string{"/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu"}
	}
	if p.Class == elf.ELFCLASS64 {
		dirs = append(dirs, "/lib64", "/usr/lib64")
	}
	return append(dirs, "/lib", "/usr/lib")
}
