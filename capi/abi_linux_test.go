package main

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/cbuild"
)

// What the library exports is the committed list, symbol by symbol with its
// version: the ABI promise. A line that goes breaks programs; a new function is a
// new line. KERNSTASH_PRIVATE is no promise.
func TestExportedSymbols(t *testing.T) {
	t.Parallel()
	f, err := elf.Open(cbuild.Library(t).Library)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF && elf.ST_TYPE(s.Info) != elf.STT_OBJECT {
			got = append(got, s.Name+"@@"+s.Version)
		}
	}
	slices.Sort(got)
	b, err := os.ReadFile("symbols.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Fields(string(b)), got); diff != "" {
		t.Errorf("exported symbols (-symbols.txt +library):\n%s", diff)
	}
	if soname, err := f.DynString(elf.DT_SONAME); err != nil || !slices.Equal(soname, []string{"libkernstash.so.1"}) {
		t.Errorf("soname %q, %v", soname, err)
	}
}

// Every function of the header is exported, and every exported one is in the
// header and in the stub.
func TestHeaderAndStubAreComplete(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile("symbols.txt")
	if err != nil {
		t.Fatal(err)
	}
	header, err := os.ReadFile("kernstash.h")
	if err != nil {
		t.Fatal(err)
	}
	stub, err := os.ReadFile("stub/kernstash_stub.c")
	if err != nil {
		t.Fatal(err)
	}
	public := 0
	for _, s := range strings.Fields(string(list)) {
		name, version, _ := strings.Cut(s, "@@")
		if version != "KERNSTASH_1" {
			continue
		}
		public++
		if !strings.Contains(string(header), name+"(") {
			t.Errorf("kernstash.h lacks %s", name)
		}
		if !strings.Contains(string(stub), ", "+strings.TrimPrefix(name, "kernstash_")+", (") {
			t.Errorf("the stub lacks %s", name)
		}
	}
	if n := strings.Count(string(header), "\nKERNSTASH_API "); n != public {
		t.Errorf("kernstash.h declares %d functions, %d are exported", n, public)
	}
}

// The sizes of structures that callers lay out themselves: they only grow.
func TestLayoutOfStructures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source := filepath.Join(dir, "layout.c")
	text := `#include "kernstash.h"
#define IS(what, n) _Static_assert((what) == (n), #what)
IS(sizeof(kernstash_options), 40);
IS(offsetof(kernstash_options, flags), 32);
IS(sizeof(kernstash_statistics), 120);
IS(offsetof(kernstash_statistics, saved_time), 112);
IS(sizeof(kernstash_identity), 80);
IS(offsetof(kernstash_identity, compiler_count), 72);
IS(sizeof(kernstash_artifact), 64);
IS(offsetof(kernstash_artifact, origin), 60);
IS(KERNSTASH_INTERNAL, -13);
IS(KERNSTASH_FROM_DISK, 3);
int main(void) { return 0; }
`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cbuild.Library(t).CompileAlone(t, []string{source}, "-Wpedantic")
	for _, std := range []string{"c99", "c11", "c17"} {
		cbuild.Library(t).CompileAlone(t, []string{source}, "-fsyntax-only", fmt.Sprintf("-std=%s", std), "-D_Static_assert(a,b)=extern int unused")
	}
}
