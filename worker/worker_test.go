package worker

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store/disk"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestBuilderEnviron(t *testing.T) {
	t.Parallel()
	got := builderEnviron(
		[]string{"HOME=/home/u", "PATH=/bin", "LC_ALL=C", "POCL_WORK_GROUP_METHOD=cbs", "KERNSTASH_DIR=/r", "LD_PRELOAD=/p.so", "EDITOR=vi", "LD_LIBRARY_PATH=/mine"},
		spool.Environment{Variables: []key.Pair{
			{Name: "KERNSTASH_DISABLE", Value: "1"},
			{Name: "LD_LIBRARY_PATH", Value: "/theirs"},
			{Name: "LD_PRELOAD", Value: "/q.so"},
			{Name: "OPENCL_LAYERS", Value: "/l.so"},
			{Name: "PATH", Value: "/theirs/bin"},
			{Name: "POCL_CACHE_DIR", Value: "/user"},
			{Name: "POCL_DEVICES", Value: "pthread"},
		}}, "/w")
	want := []string{
		"HOME=/home/u", "LC_ALL=C", "LD_LIBRARY_PATH=/theirs", "PATH=/theirs/bin", "POCL_DEVICES=pthread",
		"POCL_CACHE_DIR=/w/cache", "XDG_CACHE_HOME=/w/cache",
		"NEO_CACHE_PERSISTENT=0", "CUDA_CACHE_DISABLE=1", "MESA_SHADER_CACHE_DISABLE=true", "TMPDIR=/w/tmp",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEnviron(t *testing.T) {
	t.Parallel()
	got := Environ([]string{"A=1", "LD_PRELOAD=/p.so", "OPENCL_LAYERS=/l.so", "KERNSTASH_DIR=/x", "KERNSTASH_MAX_SIZE=1GiB", "KERNSTASH_EVICTION=lru"},
		"/root", []string{"KERNSTASH_MAX_SIZE=2MiB"})
	if diff := cmp.Diff([]string{"A=1", "KERNSTASH_EVICTION=lru", "KERNSTASH_MAX_SIZE=2MiB", "KERNSTASH_DIR=/root"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestFindCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := func(path string, mode os.FileMode) string {
		path = filepath.Join(dir, path)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, nil, mode))
		return path
	}
	beside := program("prefix/bin/kernstash", 0o700)
	inPath := program("path/kernstash", 0o700)
	named := program("named", 0o700)
	program("data/kernstash", 0o600)
	must(t, os.MkdirAll(filepath.Join(dir, "folder/kernstash"), 0o700))
	library, path := filepath.Join(dir, "prefix/lib/libkernstash.so.1"), "PATH="+filepath.Join(dir, "path")
	debian := filepath.Join(dir, "prefix/lib/x86_64-linux-gnu/libkernstash.so.1")
	tests := []struct {
		name, library string
		environ       []string
		want          string
	}{
		{"named", library, []string{path, "KERNSTASH_COMMAND=" + named}, named},
		{"named, and not there", library, []string{path, "KERNSTASH_COMMAND=/no/such"}, ""},
		{"named, relative", library, []string{path, "KERNSTASH_COMMAND=kernstash"}, ""},
		{"beside the library", library, []string{path}, beside},
		{"beside a library of Debian's", debian, []string{path}, beside},
		{"in PATH", "", []string{path}, inPath},
		{"a relative library", "lib/libkernstash.so.1", []string{path}, inPath},
		{"no program", "", []string{"PATH=" + filepath.Join(dir, "data") + ":" + filepath.Join(dir, "folder")}, ""},
		{"a relative PATH", "", []string{"PATH=path:."}, ""},
		{"nothing", "", nil, ""},
	}
	for _, tt := range tests {
		got, err := FindCommand(tt.library, tt.environ)
		if got != tt.want || (err == nil) != (tt.want != "") || err != nil && !errors.Is(err, ErrNoCommand) {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, tt.want)
		}
	}
}

// TestForeignCommand: what somebody else laid above the library is not run.
func TestForeignCommand(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("NOT RUN: only root can give files away")
	}
	dir := t.TempDir()
	library, command := filepath.Join(dir, "x/lib/libkernstash.so.1"), filepath.Join(dir, "bin/kernstash")
	for _, path := range []string{library, command} {
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, nil, 0o755))
	}
	for _, tt := range []struct {
		command, library int // their owners
		mode             os.FileMode
		want             string
	}{
		{0, 0, 0o755, command},
		{1234, 0, 0o755, ""},
		{1234, 5678, 0o755, ""},
		{1234, 1234, 0o755, command},
		{0, 1234, 0o755, command},
		{0, 0, 0o757, ""},
	} {
		must(t, errors.Join(os.Chown(command, tt.command, -1), os.Chown(library, tt.library, -1), os.Chmod(command, tt.mode)))
		if got, _ := FindCommand(library, nil); got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}

func TestRunWithoutACommand(t *testing.T) {
	t.Parallel()
	s := disk.New(disk.Options{Dir: t.TempDir()})
	defer s.Close()
	if _, err := Run(t.Context(), Options{Store: s}); !errors.Is(err, ErrNoCommand) {
		t.Errorf("%v", err)
	}
}
