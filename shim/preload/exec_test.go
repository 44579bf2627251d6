//go:build linux

package preload_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Compilers are started through the command that KERNSTASH_COMMAND names, in whatever way a
// program starts them; other programs are not.
func TestCompilersAreStartedThroughTheCommand(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	starts := s.program("starts")
	says := func(name, what string) string {
		path := filepath.Join(s.work, name)
		s.write(name, fmt.Sprintf("#!/bin/sh\necho %s \"$@\"\nexit 7\n", what))
		if err := os.Chmod(path, 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	command, real, other := says("bin/kernstash", "command"), says("bin/ptxas", "real"), says("bin/ptxas2", "other")
	says("ptxas", "here")
	path := "PATH=/nonexistent:" + filepath.Dir(real) + ":" + os.Getenv("PATH")
	through := "KERNSTASH_COMMAND=" + command
	served := "command compile -- " + real + " -a -b\n"
	type row struct {
		way, program string
		env          []string
		out          string
		status       int
	}
	var rows []row
	for _, way := range []string{"execve", "execv", "execl", "execle", "vfork", "posix_spawn", "system", "popen"} {
		rows = append(rows, row{way, real, []string{path, through}, served, 7})
	}
	for _, way := range []string{"execvp", "execvpe", "execlp", "posix_spawnp", "system", "popen"} {
		rows = append(rows, row{way, "ptxas", []string{path, through}, served, 7})
	}
	rows = append(
		rows,
		row{"execvp", real, []string{path, through}, served, 7},
		row{"execve", "ptxas", []string{path, through}, "command compile -- ./ptxas -a -b\n", 7},
		row{"execve", real, []string{path}, "real -a -b\n", 7},
		row{"renamed", real, []string{path, through}, "real -a -b\n", 7}, // its messages begin with the name
		row{"execve", real, []string{path, "KERNSTASH_COMMAND=kernstash"}, "real -a -b\n", 7},
		row{"posix_spawn", real, []string{path, "KERNSTASH_COMMAND=/nonexistent"}, "real -a -b\n", 7},
		row{"execve", other, []string{path, through}, "other -a -b\n", 7},
		row{"posix_spawnp", "ptxas2", []string{path, through}, "other -a -b\n", 7},
		row{"execve", "/nonexistent/ptxas", []string{path, through}, "", 100 + int(syscall.ENOENT)},
		row{"execvp", "ptxas", []string{"PATH=/nonexistent", through}, "", 100 + int(syscall.ENOENT)},
	)
	for _, r := range rows {
		o := s.mustRun(true, r.env, starts, r.way, r.program, "-a", "-b")
		if d := cmp.Diff(fmt.Sprintf("%serror 0, status %d\n", r.out, r.status), o.out); d != "" {
			t.Errorf("%s %s %q (-want +got):\n%s", r.way, r.program, r.env, d)
		}
		if without := s.mustRun(false, r.env, starts, r.way, r.program, "-a", "-b"); !strings.HasSuffix(o.out, without.out[strings.LastIndex(without.out, "error"):]) {
			t.Errorf("%s %s: %q, without the library %q", r.way, r.program, o.out, without.out)
		}
	}
}
