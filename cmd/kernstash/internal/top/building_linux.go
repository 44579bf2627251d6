package top

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/kernstash/kernstash/internal/records"
)

const nothing = "nothing"

// building returns the builds that processes hold locks for in a file, as the kernel tells: by offset in /proc/locks, and by
// process in /proc/PID/fdinfo, as far as this user may look there.
func building(path string, from, below int64) (all []Build) {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	held := make(map[int64]bool)
	// Some file systems tell another number of the device here: the number of the file, and the offsets, are enough.
	eachLock("/proc/locks", func(file string, at int64) {
		if strings.HasSuffix(file, ":"+strconv.FormatUint(st.Ino, 10)) && at >= from && at < below {
			held[at] = true
		}
	})
	if len(held) == 0 {
		return nil
	}
	fds, _ := filepath.Glob("/proc/[0-9]*/fd")
	for _, dir := range fds {
		names, _ := os.ReadDir(dir)
		for _, name := range names {
			if to, err := os.Readlink(filepath.Join(dir, name.Name())); err != nil || filepath.Base(to) != filepath.Base(path) {
				continue
			}
			if is, err := os.Stat(filepath.Join(dir, name.Name())); err != nil || !os.SameFile(is, info) {
				continue
			}
			process := filepath.Dir(dir)
			pid, _ := strconv.Atoi(filepath.Base(process))
			eachLock(filepath.Join(process, "fdinfo", name.Name()), func(_ string, at int64) {
				if held[at] {
					delete(held, at) // children share the descriptor
					all = append(all, Build{application(process), pid, at})
				}
			})
		}
	}
	for at := range held {
		all = append(all, Build{at: at})
	}
	return all
}

// eachLock calls f with the file and the offset of each lock that a file in /proc tells of.
func eachLock(path string, f func(file string, at int64)) {
	b, _ := os.ReadFile(path)
	for line := range strings.Lines(string(b)) {
		// [lock:] 1: OFDLCK ADVISORY WRITE -1 fd:00:1234 56 56; who waits for one has an arrow behind the number
		fields := strings.Fields(strings.TrimPrefix(line, "lock:"))
		if len(fields) != 8 || fields[1] != "OFDLCK" || fields[3] != "WRITE" {
			continue
		}
		if at, err := strconv.ParseInt(fields[6], 10, 64); err == nil && fields[7] == fields[6] {
			f(fields[5], at)
		}
	}
}

func application(process string) string {
	exe, err := os.Readlink(filepath.Join(process, "exe"))
	if err != nil {
		return "?"
	}
	args, _ := os.ReadFile(filepath.Join(process, "cmdline"))
	return records.Name(exe, strings.Split(strings.TrimRight(string(args), "\x00"), "\x00"))
}
