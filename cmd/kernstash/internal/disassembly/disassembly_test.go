package disassembly

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kernstash/kernstash/internal/needs"
)

// header returns the header of an ELF file of 64 bits without sections.
func header(kind, machine uint16) []byte {
	b := make([]byte, 64)
	copy(b, "\x7fELF\x02\x01\x01")
	binary.LittleEndian.PutUint16(b[16:], kind)
	binary.LittleEndian.PutUint16(b[18:], machine)
	b[20], b[52], b[58] = 1, 64, 64 // version, lengths of this and of a section's header
	return b
}

func TestPieces(t *testing.T) {
	t.Parallel()
	nvidiaELF, amdELF, hostELF := header(2, 190), header(3, 224), header(3, 62)
	nvidiaELF[20] = 118 // the version of CUDA 11.8 in place of that of ELF
	for _, test := range []struct {
		name string
		in   []byte
		want []string // the first tool of each
	}{
		{"NVIDIA", nvidiaELF, []string{"nvdisasm"}},
		{"several architectures", []byte("\x50\xed\x55\xba more"), []string{"cuobjdump"}},
		{"AMD", amdELF, []string{"llvm-objdump"}},
		{"Intel by its machine", header(1, 205), []string{"ocloc"}},
		{"Intel by its type", header(0xff04, 0), []string{"ocloc"}},
		{"held by another file", bytes.Join([][]byte{[]byte("box"), hostELF, nvidiaELF, []byte("\x7fELF")}, nil), []string{"llvm-objdump", "nvdisasm"}},
		{"none", []byte("\x00\x01\x02"), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, p := range pieces(test.in) {
				got = append(got, p.tools[0][0])
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	l, err := Of(t.Context(), "ptx", []byte(".version 8.0\n\x00"))
	if diff := cmp.Diff([]Listing{{Of: "ptx", Text: ".version 8.0\n"}}, l); err != nil || diff != "" {
		t.Errorf("text: %v, %s", err, diff)
	}
	if _, err := Of(t.Context(), "final", []byte{0, 1}); !errors.Is(err, ErrNoCode) {
		t.Errorf("no code: %v", err)
	}
}

// TestTools: tools are called one after the other, within bounds.
func TestTools(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := needs.WriteProgram(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := script("good", `echo "$1: $(cat "$2")"`)
	long := script("long", "exec head -c 17000000 /dev/zero | tr '\\0' x\n")
	hangs := script("hangs", "exec sleep 60\n")
	fails := script("fails", "echo no such code >&2; exit 3\n")
	dumps := script("dumps", `mkdir "$1"; echo one > "$1/k.asm"; echo other > "$1/k.dat"`)
	for _, test := range []struct {
		name, want, err string
		tools           []tool
		limit           time.Duration
	}{
		{name: "the first that is there", tools: []tool{{"none-such"}, {good, "-d"}}, want: "-d: code\n"},
		{name: "none", tools: []tool{{"none-such"}, {"nor-such"}}, err: "none of these is installed, or in PATH: none-such, nor-such"},
		{name: "cut", tools: []tool{{long}}, want: strings.Repeat("x", maxText)},
		{name: "too slow", tools: []tool{{hangs}}, err: "deadline exceeded", limit: 50 * time.Millisecond},
		{name: "refused", tools: []tool{{fails}}, err: "exit status 3: no such code"},
		{name: "into a directory", tools: []tool{{dumps, "{}"}}, want: "k.asm:\none\n\n"},
		{name: "nothing into a directory", tools: []tool{{good, "{}"}}, err: "wrote no assembly"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			if test.limit > 0 {
				short, cancel := context.WithTimeout(ctx, test.limit)
				defer cancel()
				ctx = short
			}
			l, err := piece{[]byte("code"), test.tools}.disassemble(ctx)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("got %v, want %s", err, test.err)
				}
				return
			}
			if err != nil || l.Text != test.want || l.Cut != (len(test.want) == maxText) {
				t.Errorf("%v: %d bytes: %.60q, cut %v", err, len(l.Text), l.Text, l.Cut)
			}
		})
	}
}
