// Package disassembly has machine code of GPU programs disassembled by the tools that are installed.
package disassembly

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
)

// Bounds of one disassembly.
const (
	maxTime = 30 * time.Second
	maxText = 16 << 20
)

// Listing is the disassembly of one piece of code.
type Listing struct {
	Of   string `json:"of"`
	Tool string `json:"tool"` // "" for what is text already
	Text string `json:"text"`
	Cut  bool   `json:"cut,omitempty"` // it is longer
}

// tool is a program that disassembles, and its arguments before the file; {} stands for a directory, which is there, that it writes into.
type tool []string

// What disassembles which code; the first that is installed is taken.
var (
	nvidia = []tool{{"nvdisasm", "-c"}, {"cuobjdump", "-sass"}}
	bundle = []tool{{"cuobjdump", "-sass"}}
	intel  = []tool{{"ocloc", "disasm", "-dump", "{}", "-file"}}
	amd    = []tool{{"llvm-objdump", "-d"}}
	host   = []tool{{"llvm-objdump", "-d"}, {"objdump", "-d"}}
)

// The machines of ELF files; some of Intel's have no machine, but types of their own.
const (
	nvidiaMachine, intelMachine   = elf.Machine(190), elf.Machine(205)
	firstIntelType, lastIntelType = elf.Type(0xff01), elf.Type(0xff0f)
)

// piece is code that one tool takes.
type piece struct {
	code  []byte
	tools []tool
}

// pieces finds the code in a binary, which is a file of code or holds some.
func pieces(b []byte) (all []piece) {
	if bytes.HasPrefix(b, []byte{0x50, 0xed, 0x55, 0xba}) { // what holds code for several architectures
		return []piece{{b, bundle}}
	}
	for code, f := range Files(b) {
		tools := host
		switch {
		case f.Machine == nvidiaMachine:
			tools = nvidia
		case f.Machine == elf.EM_AMDGPU:
			tools = amd
		case f.Machine == intelMachine || f.Type >= firstIntelType && f.Type <= lastIntelType:
			tools = intel
		case f.Section(".nv_fatbin") != nil: // an object of nvcc
			tools = bundle
		}
		all = append(all, piece{code, tools})
	}
	return all
}

// Files returns the ELF files that a binary is (NVIDIA's, AMD's, Intel's) or holds (PoCL's), each with what begins at
// it. What they hold themselves is not looked for.
func Files(b []byte) iter.Seq2[[]byte, *elf.File] {
	return func(yield func([]byte, *elf.File) bool) {
		parsed := bytes.Clone(b)
		for at := 0; ; {
			next := bytes.Index(b[at:], []byte(elf.ELFMAG))
			if next < 0 {
				return
			}
			at += next
			// In NVIDIA's files the version is that of the toolkit (118 for 11.8), with which debug/elf refuses them.
			if h := parsed[at:]; len(h) >= versionAt+4 && elf.Machine(binary.LittleEndian.Uint16(h[machineAt:])) == nvidiaMachine {
				binary.LittleEndian.PutUint32(h[versionAt:], uint32(elf.EV_CURRENT))
			}
			f, err := elf.NewFile(bytes.NewReader(parsed[at:]))
			if err != nil {
				at++ // four bytes that mean something else
				continue
			}
			if !yield(b[at:], f) {
				return
			}
			end := uint64(len(elf.ELFMAG))
			for _, s := range f.Sections {
				if s.Type != elf.SHT_NOBITS && s.Offset+s.FileSize <= uint64(len(b)-at) {
					end = max(end, s.Offset+s.FileSize)
				}
			}
			at += int(end)
		}
	}
}

// Where the header of an ELF file has the machine and the version.
const machineAt, versionAt = 18, 20

// ErrNoCode is what Of fails with for a binary of other things.
var ErrNoCode = errors.New("there is no machine code in it that a disassembler is known for")

// Of disassembles a binary. Text is returned as it is.
func Of(ctx context.Context, name string, b []byte) (all []Listing, err error) {
	if text := bytes.TrimRight(b, "\x00"); len(text) > 0 && utf8.Valid(text) && !bytes.ContainsRune(text, 0) {
		l := Listing{Of: name, Text: string(text[:min(len(text), maxText)]), Cut: len(text) > maxText}
		return []Listing{l}, nil
	}
	for i, p := range pieces(b) {
		l, err := p.disassemble(ctx)
		if err != nil {
			return all, fmt.Errorf("disassemble %s: %w", name, err)
		}
		if l.Of = name; i > 0 {
			l.Of = fmt.Sprintf("%s, part %d", name, i+1)
		}
		all = append(all, l)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("disassemble %s: %w", name, ErrNoCode)
	}
	return all, nil
}

func (p piece) disassemble(ctx context.Context) (l Listing, err error) {
	var names []string
	for _, t := range p.tools {
		if path := find(t[0]); path != "" {
			return p.run(ctx, path, t)
		}
		names = append(names, t[0])
	}
	return l, fmt.Errorf("none of these is installed, or in PATH: %s", strings.Join(names, ", "))
}

// Where toolkits have their tools, which are often not in PATH.
var usual = []string{"/usr/local/*/bin", "/opt/rocm/llvm/bin", "/usr/lib/llvm-*/bin"}

// find returns where a tool is: in PATH, else where its toolkit has it; "" where it is not.
func find(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, dir := range usual {
		found, _ := filepath.Glob(filepath.Join(dir, name))
		for _, path := range slices.Backward(found) { // the last version
			if path, err := exec.LookPath(path); err == nil {
				return path
			}
		}
	}
	return ""
}

func (p piece) run(ctx context.Context, path string, t tool) (l Listing, err error) {
	dir, err := os.MkdirTemp("", "kernstash-code-")
	if err != nil {
		return l, err
	}
	defer os.RemoveAll(dir)
	code, dump := filepath.Join(dir, "code"), filepath.Join(dir, "dump")
	if err := os.WriteFile(code, p.code, 0o600); err != nil {
		return l, err
	}
	if err := os.Mkdir(dump, 0o700); err != nil { // ocloc makes it for some of its formats only
		return l, err
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	words, dumps := []string{path}, false
	for _, word := range append(t[1:len(t):len(t)], code) {
		if word == "{}" {
			word, dumps = dump, true
		}
		words = append(words, word)
	}
	cmd := cli.Interruptibly(ctx, words...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = cli.Limit(&out, maxText+1), cli.Limit(&errs, 4<<10)
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return l, fmt.Errorf("%s: %w: %s", t[0], err, strings.TrimSpace(errs.String()))
	}
	text := out.Bytes()
	if dumps {
		files, _ := filepath.Glob(filepath.Join(dump, "*.asm"))
		if len(files) == 0 {
			said := strings.TrimSpace(out.String() + errs.String())
			if strings.Contains(said, "couldn't load iga") {
				said = "it finds no libiga64.so, which on Debian libigc-dev has; " + said
			}
			return l, fmt.Errorf("%s wrote no assembly: %s", t[0], said)
		}
		text = nil
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				return l, err
			}
			text = fmt.Appendf(text, "%s:\n%s\n", filepath.Base(f), b)
		}
	}
	return Listing{
		Tool: t[0], Cut: len(text) > maxText,
		Text: strings.ReplaceAll(string(text[:min(len(text), maxText)]), code, "code"),
	}, nil
}
