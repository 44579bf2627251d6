//go:build unix

package launch

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// hold marks a report as one that a run listens to, until this process ends.
func hold(report *os.File) { _ = unix.Flock(int(report.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// removeLeft removes the reports in a directory that runs left which were killed:
// those of this user that nobody has written to for an age, and no run holds. done
// says when it is too late to go on. Of a directory that cannot be read nothing goes.
func removeLeft(dir string, age time.Duration, done func() bool) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	for !done() {
		names, err := d.Readdirnames(256)
		for _, name := range names {
			if strings.HasPrefix(name, reportPrefix) && strings.Trim(name[len(reportPrefix):], "0123456789") == "" {
				removeReport(filepath.Join(dir, name), age)
			}
		}
		if errors.Is(err, io.EOF) || err != nil {
			return
		}
	}
}

func removeReport(path string, age time.Duration) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < age {
		return
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !os.SameFile(info, now) || unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return
	}
	_ = os.Remove(path)
}
