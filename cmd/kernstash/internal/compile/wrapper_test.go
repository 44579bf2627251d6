//go:build linux

package compile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/compile"
	"github.com/kernstash/kernstash/internal/needs"
)

// TestWrapper: a script is what the program is that it starts, if it does nothing else.
func TestWrapper(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]bool{
		"#!/bin/sh\nexec /opt/gcc/bin/gcc-real -B/opt/gcc/bin/ -isystem /usr/include/c++/13 \"$@\"\n": true,
		"#!/bin/sh\n# made by a build\n\nexec /usr/bin/gcc \"$@\"":                                    true,
		"#!/bin/sh\nexec /usr/bin/gcc \"$@\"\n\n# end\n":                                              true,
		"#!/bin/sh\nexec /usr/bin/gcc $@\n":                                                           false, // words are split, and names expanded
		"#!/bin/sh\nexec /usr/bin/gcc -DX=$X \"$@\"\n":                                                false,
		"#!/bin/sh\nexec /usr/bin/gcc -DX=`date` \"$@\"\n":                                            false,
		"#!/bin/sh\nexec /usr/bin/gcc ~/k.c \"$@\"\n":                                                 false,
		"#!/bin/sh\nexec /usr/bin/gcc *.c \"$@\"\n":                                                   false,
		"#!/bin/sh\nexec /usr/bin/gcc \"$@\" 2>/dev/null\n":                                           false,
		"#!/bin/sh\nexec /usr/bin/gcc \"$@\" &\n":                                                     false,
		"#!/bin/sh\nexec gcc \"$@\"\n":                                                                false, // PATH is asked
		"#!/bin/sh\nexec -a x /usr/bin/gcc \"$@\"\n":                                                  false,
		"#!/bin/sh\nX=1\nexec /usr/bin/gcc \"$@\"\n":                                                  false,
		"#!/bin/sh\n/usr/bin/gcc \"$@\"\n":                                                            false,
		"#!/bin/sh -e\nexec /usr/bin/gcc \"$@\"\n":                                                    false,
		"#!/bin/bash\nexec /usr/bin/gcc \"$@\"\n":                                                     false, // which reads BASH_ENV
		"exec /usr/bin/gcc \"$@\"\n":                                                                  false,
		"#!/bin/sh\n#" + strings.Repeat(" ", 5000) + "\nexec /usr/bin/gcc \"$@\"\n":                   false,
		"#!/bin/sh\nexec /usr/bin/gcc \\\n\"$@\"\n":                                                   false,
		"#!/bin/sh\nexec /usr/bin/gcc \"$@\"\x00\n":                                                   false,
		"#!/bin/sh\n# a comment \\\nexec /usr/bin/gcc \"$@\"\n":                                       true, // comments end with their lines
		"#!/bin/sh\r\nexec /usr/bin/gcc \"$@\"\r\n":                                                   false,
	} {
		path := filepath.Join(t.TempDir(), "gcc")
		if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		if got := compile.IsWrapper(path); got != want {
			t.Errorf("%q: %t", script, got)
		}
	}
	if compile.IsWrapper(filepath.Join(t.TempDir(), "none")) {
		t.Error("no file is one")
	}
}

// TestWrappedHostCompiler: what is made by a wrapped host compiler is found, until the wrapper is another one.
func TestWrappedHostCompiler(t *testing.T) {
	t.Parallel()
	_, host := nvcc(t)
	_, name, _ := strings.Cut(host, "=")
	real, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		what, before, after string
		found               int64
	}{
		{"nothing", "exec " + real + " \"$@\"\n", "exec " + real + " \"$@\"\n", 1},
		{"a word", "exec " + real + " -DX=7 \"$@\"\n", "exec " + real + " -DX=8 \"$@\"\n", 0},
		{"to another kind", "exec " + real + " \"$@\"\n", "X=1\nexec " + real + " \"$@\"\n", 0},
		{"never a wrapper", "X=1\nexec " + real + " \"$@\"\n", "X=1\nexec " + real + " \"$@\"\n", 0},
	} {
		t.Run(tt.what, func(t *testing.T) {
			t.Parallel()
			p, tool := newSource(t), toolkit(t)
			path := filepath.Join(p.dir, "host", name)
			install := func(text string) {
				if err := needs.WriteProgram(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			install(tt.before)
			args := []string{tool, "-ccbin=" + path, "-c", "-Iearly", "-Ilate", "k.cu", "-o", "out"}
			time.Sleep(50 * time.Millisecond)
			p.served(args...)
			p.wantCounts(1, 0)
			if tt.before != tt.after {
				install(tt.after)
			}
			want := p.plain(args...)
			object := p.object("out")
			got := p.served(args...)
			if d := cmp.Diff(want, got); d != "" || object != p.object("out") {
				t.Errorf("another output, or (-want +got):\n%s", d)
			}
			p.wantFound(tt.found)
		})
	}
}
