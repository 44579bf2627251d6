package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/cbuild"
	"github.com/kernstash/kernstash/internal/needs"
)

// document returns the blocks of a kind in docs/C.md.
func document(t *testing.T, kind string) []string {
	t.Helper()
	b, err := os.ReadFile("../docs/C.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, m := range regexp.MustCompile("(?ms)^```"+kind+"\n(.*?)^```$").FindAllStringSubmatch(string(b), -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// installed returns a prefix with the library as it is installed.
func installed(t *testing.T) string {
	t.Helper()
	lib := cbuild.Library(t)
	prefix := t.TempDir()
	read := func(path string) string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	header := read("kernstash.h")
	version := regexp.MustCompile(`KERNSTASH_VERSION_TEXT "(.*)"`).FindStringSubmatch(header)[1]
	fill := strings.NewReplacer("@VERSION@", version, "@INCLUDE@", "../include").Replace
	for path, content := range map[string]string{
		"include/kernstash.h":                              header,
		"lib/libkernstash.so.1":                            read(lib.Library),
		"lib/libkernstash-go.so.1":                         read(lib.Go),
		"lib/pkgconfig/kernstash.pc":                       fill(read("kernstash.pc.in")),
		"lib/cmake/kernstash/kernstashConfig.cmake":        read("cmake/kernstashConfig.cmake"),
		"lib/cmake/kernstash/kernstashConfigVersion.cmake": fill(read("cmake/kernstashConfigVersion.cmake.in")),
	} {
		path = filepath.Join(prefix, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("libkernstash.so.1", filepath.Join(prefix, "lib", "libkernstash.so")); err != nil {
		t.Fatal(err)
	}
	return prefix
}

// The document shows what differs between the two forms of the example.
func TestDocumentDiff(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("diff", "-u", "../examples/c/saxpy.c", "../examples/c/saxpy_cached.c").Output()
	if err == nil {
		t.Fatal("no difference")
	}
	_, want, _ := strings.Cut(string(out), "+++")
	_, want, _ = strings.Cut(want, "\n")
	blocks := document(t, "diff")
	if len(blocks) != 1 {
		t.Fatalf("%d blocks", len(blocks))
	}
	if diff := cmp.Diff(want, blocks[0]); diff != "" {
		t.Errorf("diff (-files +document):\n%s", diff)
	}
}

// pkg-config finds the library wherever it was moved to.
func TestPkgConfigIsRelocatable(t *testing.T) {
	t.Parallel()
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(installed(t), moved); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("pkg-config", "--cflags", "--libs", "kernstash >= 0.1.0")
	cmd.Env = append(os.Environ(), "PKG_CONFIG_PATH="+filepath.Join(moved, "lib", "pkgconfig"))
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), moved) != 2 {
		t.Errorf("%v: %s", err, out)
	}
}

// CMake likewise.
func TestCMakePackage(t *testing.T) {
	t.Parallel()
	needs.Tool(t, "cmake", "cmake")
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(installed(t), moved); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	project := fmt.Sprintf(`cmake_minimum_required(VERSION 3.13)
project(example C)
find_package(kernstash 0.1 REQUIRED)
add_executable(example %s/examples/c/own_compiler.c)
target_link_libraries(example kernstash::kernstash)
`, cbuild.Library(t).Root)
	if err := os.WriteFile(filepath.Join(dir, "CMakeLists.txt"), []byte(project), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"-S", dir, "-B", dir + "/b", "-DCMAKE_PREFIX_PATH=" + moved}, {"--build", dir + "/b"}} {
		if out, err := exec.Command("cmake", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	cmd := exec.Command(dir + "/b/example")
	cmd.Env = []string{"KERNSTASH_DIR=" + dir + "/root"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
