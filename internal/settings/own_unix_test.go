//go:build unix

package settings

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestFoundFileIsLookedAt: a settings file that lies where one is looked for,
// and that another user may have written, or that is no file at all, counts
// for nothing, is told of, and stops nobody.
func TestFoundFileIsLookedAt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		make func(t *testing.T, path string) error
		want string // in the warning; "": it counts
	}{
		"own":            {func(_ *testing.T, p string) error { return os.Chmod(p, 0o600) }, ""},
		"read by all":    {func(_ *testing.T, p string) error { return os.Chmod(p, 0o644) }, ""},
		"written by all": {func(_ *testing.T, p string) error { return os.Chmod(p, 0o666) }, "chmod go-w"},
		"own group": {func(t *testing.T, p string) error {
			giveTo(t, p, os.Geteuid(), os.Geteuid())
			return os.Chmod(p, 0o664)
		}, ""},
		"another group":   {func(t *testing.T, p string) error { giveTo(t, p, os.Geteuid(), 12345); return os.Chmod(p, 0o664) }, "chmod go-w"},
		"of another user": {func(t *testing.T, p string) error { giveTo(t, p, 12345, 12345); return nil }, "user 12345"},
		"FIFO":            {func(_ *testing.T, p string) error { return errors.Join(os.Remove(p), syscall.Mkfifo(p, 0o600)) }, "not a regular file"},
		"directory":       {func(_ *testing.T, p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) }, "not a regular file"},
		"device":          {func(_ *testing.T, p string) error { return errors.Join(os.Remove(p), os.Symlink("/dev/zero", p)) }, "not a regular file"},
		"link": {func(_ *testing.T, p string) error {
			return errors.Join(os.Rename(p, p+".real"), os.Symlink(p+".real", p))
		}, ""},
		"dangling link": {func(_ *testing.T, p string) error { return errors.Join(os.Remove(p), os.Symlink("nowhere", p)) }, "none"},
		"below a file": {func(_ *testing.T, p string) error {
			d := filepath.Dir(p)
			return errors.Join(os.RemoveAll(d), os.WriteFile(d, nil, 0o600))
		}, "not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			path := filepath.Join(home, ".config", "kernstash", "config.json")
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(`{"max-size": 7}`), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := test.make(t, path); err != nil {
				t.Fatal(err)
			}
			done := time.AfterFunc(3*time.Minute, func() { panic("it hangs: " + t.Name()) })
			defer done.Stop()
			s, err := Load(Inputs{Environ: []string{"HOME=" + home}})
			if err != nil {
				t.Fatal(err)
			}
			if counts := s.MaxSize == 7; counts != (test.want == "") {
				t.Errorf("it counts: %v; warnings %v", counts, s.Warnings)
			}
			if test.want == "" || test.want == "none" {
				if len(s.Warnings) != 0 {
					t.Errorf("warnings %v", s.Warnings)
				}
			} else if len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0].Error(), test.want) {
				t.Errorf("warnings %v, want one with %q", s.Warnings, test.want)
			}
		})
	}
}

func giveTo(t *testing.T, path string, uid, gid int) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("NOT RUN: only root can give a file to others")
	}
	if err := os.Chown(path, uid, gid); err != nil {
		t.Fatal(err)
	}
}

// TestWithRights: of all variables only the one that turns us off is left.
func TestWithRights(t *testing.T) {
	t.Parallel()
	e := environment{"HOME=/h", "KERNSTASH_DIR=/d", "KERNSTASH_DISABLE=1", "KERNSTASH_TRACE_FILE=/etc/passwd"}
	if got := e.withRights(); len(got) != 1 || got[0] != "KERNSTASH_DISABLE=1" {
		t.Errorf("got %q", got)
	}
	if got := e[:2].withRights(); got == nil || len(got) != 0 {
		t.Errorf("got %q", got)
	}
}
