//go:build linux

package compile_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestSurroundings: a compiler has what it would have without the cache, and its end is its end.
func TestSurroundings(t *testing.T) {
	t.Parallel()
	const make = ` f = fopen("o", "w"); fputs("code", f); return fclose(f);`
	for name, test := range map[string]struct{ shell, body string }{
		"descriptors": {
			`exec 3<a.h 4<b.h 5>&-`,
			`char b[99]; for (int i = 3; i < 9; i++) { long n = read(i, b, 99); dprintf(2, "%d: %ld\n", i, n); }` + make,
		},
		"signals that are ignored": {
			`trap '' HUP INT`,
			`for (int i = 1; i < 32; i++) { struct sigaction a; sigaction(i, 0, &a); if (a.sa_handler == SIG_IGN) dprintf(2, "%d\n", i); }` + make,
		},
		"messages that nobody can take": {
			`exec 2>/dev/full`,
			`for (int i = 0; i < 3; i++) { write(2, "x\n", 2); usleep(100000); }` + make,
		},
		"no standard error": {
			`exec 2>&-`,
			`for (int i = 0; i < 3; i++) { write(2, "x\n", 2); usleep(100000); }` + make,
		},
		"a process that lives on": {`exec 2>log`, `if (fork() == 0) { sleep(60); _exit(0); }` + make},
		"few files":               {`ulimit -n 20`, make},
		"memory enough":           {`ulimit -v 4194304`, make},
		"short files":             {`ulimit -f 1`, make},
	} {
		for kind, args := range map[string][]string{"nvcc": {"-c", "k.cu", "-o", "o"}, "ptxas": {"k.ptx", "-o", "o"}} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				p := newSource(t)
				compiler := fakeWith(t, kind, "#include <signal.h>\n#include <stdio.h>\n#include <unistd.h>\n", "FILE *f; "+test.body)
				run := func(program string) (ran, string) {
					_ = os.Remove(filepath.Join(p.dir, "o"))
					cmd := p.command("/bin/sh", append([]string{"-c", test.shell + "\nexec \"$0\" \"$@\" >out", program}, args...))
					if program == os.Args[0] {
						cmd = p.command("/bin/sh", append([]string{"-c", test.shell + "\nexec \"$0\" \"$@\" >out", program, compiler}, args...))
						cmd.Env = append(cmd.Env, "TEST_COMPILE_CHILD=1")
					}
					begun := time.Now()
					r := p.run(cmd)
					if took := time.Since(begun); took > 30*time.Second {
						t.Errorf("it took %v", took)
					}
					return r, p.read("o") + p.read("out")
				}
				want, made := run(compiler)
				got, gotMade := run(os.Args[0])
				if d := cmp.Diff(want, got) + cmp.Diff(made, gotMade); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
			})
		}
	}
}
