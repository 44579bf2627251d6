package ldso

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// compile makes a program or a library with the C compiler.
func compile(t *testing.T, out, source string, flags ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.c")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o700); err != nil {
		t.Fatal(err)
	}
	if log, err := exec.Command("cc", append([]string{"-o", out, file}, flags...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	return out
}

const library = "int f(void) { return 1; }"

// TestLibrary: what is found is what the dynamic linker maps, which the program
// itself says.
func TestLibrary(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, at := range []string{"a", "b", "bin/lib"} {
		compile(t, filepath.Join(dir, at, "libstash-test.so.1"), library, "-shared", "-fPIC")
	}
	const source = `#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
int main(void) {
	struct link_map *m;
	void *h = dlopen("libstash-test.so.1", RTLD_NOW);
	if (h && !dlinfo(h, RTLD_DI_LINKMAP, &m)) printf("%s", m->l_name);
	return 0;
}`
	for name, tt := range map[string]struct {
		flags []string
		path  string // LD_LIBRARY_PATH
		want  string
	}{
		"nowhere":                  {nil, "", ""},
		"the variable":             {nil, "/nowhere:" + dir + "/a", dir + "/a"},
		"RUNPATH":                  {[]string{"-Wl,--enable-new-dtags,-rpath,$ORIGIN/lib"}, "", dir + "/bin/lib"},
		"the variable, RUNPATH":    {[]string{"-Wl,--enable-new-dtags,-rpath," + dir + "/b"}, dir + "/a", dir + "/a"},
		"RPATH, then the variable": {[]string{"-Wl,--disable-new-dtags,-rpath," + dir + "/b"}, dir + "/a", dir + "/b"},
	} {
		file := compile(t, filepath.Join(dir, "bin", strings.ReplaceAll(name, " ", "-")), source, append(tt.flags, "-ldl")...)
		p, err := Inspect(file)
		if err != nil {
			t.Fatal(err)
		}
		got := Here.Library(p, "libstash-test.so.1", tt.path)
		cmd := exec.Command(file)
		cmd.Env = []string{"LD_LIBRARY_PATH=" + tt.path}
		mapped, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if tt.want != "" {
			tt.want += "/libstash-test.so.1"
		}
		if got != tt.want || string(mapped) != tt.want {
			t.Errorf("%s: %q, the dynamic linker says %q, want %q", name, got, mapped, tt.want)
		}
	}
}

// TestSystemLibrary: the cache leads to a C library.
func TestSystemLibrary(t *testing.T) {
	t.Parallel()
	p, err := Inspect(compile(t, filepath.Join(t.TempDir(), "p"), "int main(void) { return 0; }"))
	if err != nil {
		t.Fatal(err)
	}
	if p.Static || len(p.Needed) == 0 {
		t.Errorf("%+v", p)
	}
	cached := Here.cached(p, "libc.so.6")
	if got := Here.Library(p, "libc.so.6", ""); got == "" || got != cached {
		t.Errorf("%q, in the cache %q", got, cached)
	}
	if got := (System{Cache: "/nowhere"}).Library(p, "libc.so.6", ""); got == "" {
		t.Error("not in the default directories")
	}
	if got := Here.Library(&Program{Class: elf.ELFCLASS32, Machine: elf.EM_MIPS}, "libc.so.6", ""); got != "" {
		t.Errorf("a library of another machine: %s", got)
	}
}

func TestInspect(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	static := compile(t, filepath.Join(dir, "static"), "int main(void) { return 0; }", "-static")
	if p, err := Inspect(static); err != nil || !p.Static {
		t.Errorf("%+v, %v", p, err)
	}
	for text, want := range map[string][]string{
		"#!/bin/sh\nexit": {"/bin/sh"}, "#! /usr/bin/env python3 -x\n": {"/usr/bin/env", "python3 -x"}, "#!/bin/sh": {"/bin/sh"},
	} {
		file := filepath.Join(dir, "script")
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := Inspect(file)
		var script *Script
		if !errors.As(err, &script) || cmp.Diff(want, script.Interpreter) != "" {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"", "#!", "#!\n", "\x7fELF", "text"} {
		file := filepath.Join(dir, "other")
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		if p, err := Inspect(file); err == nil {
			t.Errorf("%q: %+v", text, p)
		}
	}
	if _, err := Inspect(dir); err == nil {
		t.Error("a directory is inspected")
	}
}

// FuzzLookUp: no cache makes us read beyond it.
func FuzzLookUp(f *testing.F) {
	var b bytes.Buffer
	b.WriteString("ld.so-1.7.0\x00\x00\x00" + cacheMagic)
	_ = binary.Write(&b, binary.NativeEndian, [7]uint32{1, 30})
	_ = binary.Write(&b, binary.NativeEndian, [6]uint32{flagX8664, 72, 79})
	b.WriteString("liba.so\x00/x/liba.so\x00")
	f.Add(b.Bytes())
	if got := lookUp(b.Bytes(), "liba.so", flagX8664); got != "" {
		f.Errorf("an offset into the middle: %q", got)
	}
	good := bytes.Replace(b.Bytes(), []byte{79, 0, 0, 0}, []byte{80, 0, 0, 0}, 1)
	if got := lookUp(good, "liba.so", flagX8664); got != "/x/liba.so" {
		f.Errorf("got %q", got)
	}
	if got := lookUp(good, "liba.so", flagAArch64) + lookUp(good, "liba.s", flagX8664); got != "" {
		f.Errorf("got %q", got)
	}
	f.Add(good)
	f.Fuzz(func(_ *testing.T, b []byte) { lookUp(b, "liba.so", flagX8664) })
}
