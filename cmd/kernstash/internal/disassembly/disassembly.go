// Package disassembly has machine code of GPU programs disassembled by the tools that are installed.
package disassembly

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

// tool is a program that disassembles, and its arguments before the file; {} stands for a directory that it writes into.
type tool []string

// What disassembles which code; the first that is installed is taken.
var (
	nvidia = []tool{{"nvdisasm"}, {"cuobjdump", "-sass"}}
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
	for at := 0; ; {
		next := bytes.Index(b[at:], []byte(elf.ELFMAG))
		if next < 0 {
			return all
		}
		at += next
		f, err := elf.NewFile(bytes.NewReader(b[at:]))
		if err != nil {
			at++ // four bytes that mean something else
			continue
		}
		end := uint64(len(elf.ELFMAG))
		for _, s := range f.Sections {
			if s.Type != elf.SHT_NOBITS && s.Offset+s.FileSize <= uint64(len(b)-at) {
				end = max(end, s.Offset+s.FileSize)
			}
		}
		tools := host
		switch {
		case f.Machine == nvidiaMachine:
			tools = nvidia
		case f.Machine == elf.EM_AMDGPU:
			tools = amd
		case f.Machine == intelMachine || f.Type >= firstIntelType && f.Type <= lastIntelType:
			tools = intel
		}
		all = append(all, piece{b[at:], tools})
		at += int(end)
	}
}

var errNoCode = errors.New("there is no machine code in it that a disassembler is known for")

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
		return nil, fmt.Errorf("disassemble %s: %w", name, errNoCode)
	}
	return all, nil
}

func (p piece) disassemble(ctx context.Context) (l Listing, err error) {
	var names []string
	for _, t := range p.tools {
		path, err := exec.LookPath(t[0])
		if err == nil {
			return p.run(ctx, path, t)
		}
		names = append(names, t[0])
	}
	return l, fmt.Errorf("none of these is installed, or in PATH: %s", strings.Join(names, ", "))
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
			return l, fmt.Errorf("%s wrote no assembly: %s", t[0], strings.TrimSpace(out.String()+errs.String()))
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
