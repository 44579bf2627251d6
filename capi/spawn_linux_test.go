package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSpawnDetached: the host notices nothing of the program, and the program
// has nothing of the host.
func TestSpawnDetached(t *testing.T) {
	t.Parallel()
	compiler := os.Getenv("CC")
	if compiler == "" {
		compiler = "cc"
	}
	for name, flags := range map[string][]string{
		"plain":   {"-O2"},
		"address": {"-g", "-fsanitize=address,undefined"},
		"thread":  {"-g", "-fsanitize=thread"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			program, out := filepath.Join(dir, "host"), filepath.Join(dir, "out")
			args := append([]string{"-std=c11", "-Wall", "-Wextra", "-Werror", "-o", program}, flags...)
			cc := exec.Command(compiler, append(args, "testdata/spawn.c", "spawn_linux.c", "-ldl", "-lpthread")...)
			if log, err := cc.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, log)
			}
			script := "{ env; pwd; readlink /proc/$$/fd/0 /proc/$$/fd/1; ls /proc/$$/fd | tr '\\n' ' '; echo; " +
				"grep -E 'SigBlk|SigIgn' /proc/self/status; cut -d' ' -f5,6 /proc/$$/stat; echo pid $$; } > " + out + "; mv " + out + " " + out + ".done"
			said, err := exec.Command(program, script).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			for _, want := range []string{
				"rc 0 errno 7 missing 1\n", "wait -1 ECHILD told 0\n", "all -1 ECHILD\n",
			} {
				if !strings.Contains(string(said), want) {
					t.Errorf("the host says %q, want %q", said, want)
				}
			}
			t.Log(strings.SplitN(string(said), "\n", 2)[0], "ms")
			var b []byte
			for range 3600 {
				if b, err = os.ReadFile(out + ".done"); err == nil {
					break
				}
				time.Sleep(50 * time.Millisecond)
			}
			if err != nil {
				t.Fatal(err)
			}
			text := string(b)
			lines := strings.Split(text, "\n")
			for _, want := range []string{"ONLY=this", "/", "/dev/null", "SigIgn:\t0000000000000000", "SigBlk:\t0000000000000000"} {
				found := false
				for _, l := range lines {
					found = found || l == want
				}
				if !found {
					t.Errorf("the program says %q, without %q", text, want)
				}
			}
			// Its own streams, and what the shell opened for the script.
			if strings.Contains(text, "/dev/zero") || strings.Contains(text, "HOME=") {
				t.Errorf("it has something of the host: %q", text)
			}
			for i, l := range lines {
				if pid, ok := strings.CutPrefix(l, "pid "); ok {
					// Group and session are its own, of the process before it.
					f := strings.Fields(lines[i-1])
					if len(f) != 2 || f[0] != f[1] || f[0] == pid {
						t.Errorf("pid %s, group and session %v", pid, f)
					}
				}
			}
		})
	}
}
