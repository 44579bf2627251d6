package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/internal/cbuild"
)

// stubbed compiles a program with the stub and without the library.
func stubbed(t *testing.T, source string, flags ...string) string {
	t.Helper()
	lib := cbuild.Library(t)
	return lib.CompileAlone(t, []string{source, lib.Stub}, append(flags, "-I"+filepath.Dir(lib.Stub), "-ldl", "-lpthread")...)
}

// The stub serves where the library is installed, and answers that it is not
// available where it is not, or stays out; the program works each time.
func TestStub(t *testing.T) {
	t.Parallel()
	lib := cbuild.Library(t)
	for name, flags := range sanitizers {
		program := stubbed(t, "testdata/stub.c", flags...)
		tests := []struct {
			name   string
			shell  string // before the program; may be empty
			env    string
			want   string
			reason string
			plain  bool // not with sanitizers: they want more address space than that
		}{
			{name: "installed", env: "LD_LIBRARY_PATH=" + lib.Dir, want: "built then found"},
			{name: "not installed", want: "unavailable", reason: "libkernstash.so.1"},
			{name: "disabled", env: "LD_LIBRARY_PATH=" + lib.Dir + "\nKERNSTASH_DISABLE=1", want: "unavailable", reason: "KERNSTASH_DISABLE"},
			{name: "address space", shell: "ulimit -v 200000;", env: "LD_LIBRARY_PATH=" + lib.Dir, want: "unavailable", reason: "address space", plain: true},
			{name: "address space, most", shell: "ulimit -v 4000000;", env: "LD_LIBRARY_PATH=" + lib.Dir, want: "unavailable", reason: "address space", plain: true},
			{name: "address space, enough", shell: "ulimit -v 5000000;", env: "LD_LIBRARY_PATH=" + lib.Dir, want: "built then found", plain: true},
			{name: "another library", env: "LD_LIBRARY_PATH=" + otherLibrary(t), want: "unavailable", reason: "lacks kernstash_"},
		}
		for _, tt := range tests {
			if tt.plain && name != "plain" {
				continue
			}
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				cmd := exec.Command("sh", "-c", tt.shell+` exec "$0"`, program)
				cmd.Env = append(strings.Split(tt.env, "\n"), "PATH="+os.Getenv("PATH"), "KERNSTASH_DIR="+filepath.Join(t.TempDir(), "root"))
				out, err := cmd.CombinedOutput()
				got, reason, _ := strings.Cut(strings.TrimSpace(string(out)), ": ")
				if err != nil || got != tt.want || !strings.Contains(reason, tt.reason) {
					t.Errorf("%v: %q, want %q with %q", err, out, tt.want, tt.reason)
				}
			})
		}
	}
}

// otherLibrary returns a folder with a libkernstash.so.1 that is none.
func otherLibrary(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "other.c")
	if err := os.WriteFile(source, []byte("const char *kernstash_version(void);\nconst char *kernstash_version(void) { return \"0.0.1\"; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cbuild.CC(), "-shared", "-fPIC", "-o", filepath.Join(dir, "libkernstash.so.1"), source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// A program that only forks, and uses the library in its child: the stub loads it
// there.
func TestStubInAForkedChild(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(stubbed(t, "testdata/stub.c"), "fork")
	cmd.Env = []string{"LD_LIBRARY_PATH=" + cbuild.Library(t).Dir, "KERNSTASH_DIR=" + filepath.Join(t.TempDir(), "root")}
	if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "built then found" {
		t.Errorf("%v: %q", err, out)
	}
}

// addedMax is what the library may add to a process, at rest.
const addedMax = 8 << 10 // KiB

// What the library adds to a process: memory, address space, handlers.
func TestWhatTheLibraryAdds(t *testing.T) {
	program := stubbed(t, "testdata/memory.c")
	said := make(map[string]string)
	kib := addedMax + 1
	// On a busy machine some processes were seen with two megabytes more.
	for try := 0; try < 3 && kib > addedMax; try++ {
		cmd := exec.Command(program)
		cmd.Env = []string{"LD_LIBRARY_PATH=" + cbuild.Library(t).Dir, "KERNSTASH_DIR=" + filepath.Join(t.TempDir(), "root")}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		t.Logf("%s", out)
		for line := range strings.Lines(string(out)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			said[name] = value
		}
		if kib, err = strconv.Atoi(said["rest-kib"]); err != nil {
			t.Fatal(err)
		}
	}
	if kib > addedMax {
		t.Errorf("%d KiB resident at rest; at most %d", kib, addedMax)
	}
	if mib, err := strconv.Atoi(said["space-mib"]); err != nil || mib > 4<<10 {
		t.Errorf("%s MiB of address space, %v; KERNSTASH_ADDRESS_SPACE is 4096", said["space-mib"], err)
	}
	// SIGBUS, SIGFPE, SIGSEGV, SIGPIPE, and glibc's own 32 and 33: what kernstash.h
	// says.
	var caught uint64
	if _, err := fmt.Sscanf(said["caught"], "%x", &caught); err != nil {
		t.Fatal(err)
	}
	const documented = 1<<(7-1) | 1<<(8-1) | 1<<(11-1) | 1<<(13-1) | 3<<(32-1)
	if caught&^documented != 0 {
		t.Errorf("signals caught: %#x, documented are %#x", caught, uint64(documented))
	}
}
