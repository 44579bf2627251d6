//go:build unix

package trust

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestWhoMayWriteAList: where others may write the directory or one of its files, or what lies there
// is no file, nothing is trusted.
func TestWhoMayWriteAList(t *testing.T) {
	t.Parallel()
	const nobody = 12345
	two := keys(t, 2)
	root := func(t *testing.T) {
		t.Helper()
		if os.Geteuid() != 0 {
			t.Skip("NOT RUN: only root can give a file to others")
		}
	}
	for name, tt := range map[string]struct {
		spoil func(t *testing.T, dir, file string) error
		want  string // in the error; "": it counts
	}{
		"private":       {func(_ *testing.T, d, f string) error { return errors.Join(os.Chmod(d, 0o700), os.Chmod(f, 0o600)) }, ""},
		"read by all":   {func(_ *testing.T, d, f string) error { return errors.Join(os.Chmod(d, 0o755), os.Chmod(f, 0o644)) }, ""},
		"group's":       {func(_ *testing.T, d, _ string) error { return os.Chmod(d, 0o770) }, "chmod go-w"},
		"everybody's":   {func(_ *testing.T, d, _ string) error { return os.Chmod(d, 0o707) }, "chmod go-w"},
		"sticky":        {func(_ *testing.T, d, _ string) error { return os.Chmod(d, 0o777|os.ModeSticky) }, "chmod go-w"},
		"group's file":  {func(_ *testing.T, _, f string) error { return os.Chmod(f, 0o664) }, "key.pem: others may write it"},
		"anybody's":     {func(_ *testing.T, _, f string) error { return os.Chmod(f, 0o606) }, "key.pem: others may write it"},
		"another's":     {func(t *testing.T, d, _ string) error { root(t); return os.Chown(d, nobody, 0) }, "belongs to user 12345"},
		"another's key": {func(t *testing.T, _, f string) error { root(t); return os.Chown(f, nobody, 0) }, "key.pem: it belongs to user 12345"},
		"revoked by others": {func(t *testing.T, d, _ string) error {
			root(t)
			return os.Chown(write1(t, d, "revoked", ""), nobody, 0)
		}, "revoked: it belongs to user 12345"},
		"a link to a key": {func(t *testing.T, d, f string) error {
			return errors.Join(os.Rename(f, filepath.Join(d, "..data")), os.Symlink("..data", f))
		}, ""},
		"a link to another's": {func(t *testing.T, d, f string) error {
			root(t)
			to := filepath.Join(d, ".else")
			return errors.Join(os.Rename(f, to), os.Chown(to, nobody, 0), os.Symlink(to, f))
		}, "belongs to user 12345"},
		"a link to nothing": {func(_ *testing.T, d, _ string) error { return os.Symlink("nowhere", filepath.Join(d, "revoked")) }, "revoked: "},
		"a pipe":            {func(_ *testing.T, d, _ string) error { return syscall.Mkfifo(filepath.Join(d, "revoked"), 0o600) }, "not a regular file"},
		"a directory":       {func(_ *testing.T, d, _ string) error { return os.Mkdir(filepath.Join(d, "x.pem"), 0o700) }, "not a regular file"},
		"no directory": {func(t *testing.T, d, _ string) error {
			return errors.Join(os.RemoveAll(d), os.WriteFile(d, nil, 0o600))
		}, "not a directory"},
		"below a file": {func(t *testing.T, d, _ string) error {
			up := filepath.Dir(d)
			return errors.Join(os.RemoveAll(up), os.WriteFile(up, nil, 0o600))
		}, "not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "up", "trust")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			file := write1(t, dir, "key.pem", pemOf(t, two[0]))
			if err := tt.spoil(t, dir, file); err != nil {
				t.Fatal(err)
			}
			done := time.AfterFunc(3*time.Minute, func() { panic("it hangs: " + t.Name()) })
			defer done.Stop()
			l := Open(dir, false)
			want := "false false"
			if tt.want == "" {
				want = "true false"
			}
			if got := stateOf(l, two[0], two[1]); got != want {
				t.Errorf("%s, want %s", got, want)
			}
			if err := l.Err(); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// TestReadOnlyFileSystem: what is mounted so that nobody can write there, as Kubernetes mounts its
// directories, which all may write by their mode, counts.
func TestReadOnlyFileSystem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, readOnly := range []bool{false, true} {
		if err := checkWriters(info, func() bool { return readOnly }); (err == nil) != readOnly {
			t.Errorf("read-only %v: %v", readOnly, err)
		}
	}
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if readOnly(f) {
		t.Error("a directory for temporary files is taken for read-only")
	}
}

// TestRevokedTogether: no process loses what another revokes.
func TestRevokedTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const n = 32
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if revoked, err := Revoke(dir, fingerprint(id{byte(i)})); !revoked || err != nil {
				t.Errorf("%v, %v", revoked, err)
			}
		})
	}
	all.Wait()
	if got := len(Open(dir, true).Entries()); got != n {
		t.Errorf("%d are revoked, want %d", got, n)
	}
}
