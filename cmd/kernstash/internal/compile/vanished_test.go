//go:build linux

package compile_test

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestHomeThatChanges: a home may change while a compiler runs that looks for programs in a directory of PATH that is not
// there; where that directory was there, nothing is kept.
func TestHomeThatChanges(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		inPath       bool
		before, then func(home string) error
		found        int64
	}{
		"the home changes": {true, nothing, func(home string) error { return os.WriteFile(filepath.Join(home, ".history"), nil, 0o600) }, 1},
		"the home changes, which is in no PATH": {false, nothing, func(home string) error {
			return os.WriteFile(filepath.Join(home, ".history"), nil, 0o600)
		}, 0},
		"the directory goes": {
			true, func(home string) error { return os.MkdirAll(filepath.Join(home, "go/bin"), 0o700) },
			func(home string) error { return os.RemoveAll(filepath.Join(home, "go")) }, 0,
		},
		"a part of its way comes": {true, nothing, func(home string) error { return os.Mkdir(filepath.Join(home, "go"), 0o700) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newSource(t)
			home := t.TempDir()
			if test.inPath {
				p.env = append(p.env, "PATH=/usr/bin:"+filepath.Join(home, "go/bin"))
			}
			if err := test.before(home); err != nil {
				t.Fatal(err)
			}
			compiler := fakeWith(t, "nvcc", "#include <stdio.h>\n#include <unistd.h>\n", `access("`+filepath.Join(home, "go/bin/gcc")+`", X_OK); char c;
				dprintf(2, "on\n"); read(0, &c, 1); FILE *f = fopen("o", "w"); fputs("code", f); return fclose(f);`)
			time.Sleep(50 * time.Millisecond)
			for i := range 2 {
				cmd := p.command(os.Args[0], []string{compiler, "-c", "k.cu", "-o", "o"})
				cmd.Env = append(cmd.Env, "TEST_COMPILE_CHILD=1")
				in, errIn := cmd.StdinPipe()
				said, errOut := cmd.StderrPipe()
				if err := errors.Join(errIn, errOut, cmd.Start()); err != nil {
					t.Fatal(err)
				}
				_, err := bufio.NewReader(said).ReadString('\n')
				if i == 0 {
					err = errors.Join(err, test.then(home))
				}
				if err = errors.Join(err, in.Close(), cmd.Wait()); err != nil {
					t.Fatal(err)
				}
			}
			if _, found := p.counts(); found != test.found {
				t.Errorf("%d found, want %d", found, test.found)
			}
		})
	}
}

func nothing(string) error { return nil }
