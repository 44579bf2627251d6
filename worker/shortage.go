package worker

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/kernstash/kernstash/spool"
)

// leastDisk is what is written to find out whether there is room: a small program's
// files take less.
const leastDisk = 1 << 20

// full returns why nothing can be written to a directory, "" if there is room.
func full(dir string) string {
	probe := filepath.Join(dir, "room")
	err := os.WriteFile(probe, make([]byte, leastDisk), 0o600)
	_ = os.Remove(probe)
	if err != nil {
		return "no room to build in: " + err.Error()
	}
	return ""
}

// What compilers, and Go, print when they run out of disk or memory.
var (
	noDisk   = []string{said(syscall.ENOSPC), said(syscall.EDQUOT), said(syscall.EROFS)}
	noMemory = []string{said(syscall.ENOMEM), said(syscall.EAGAIN), "out of memory", "failed to allocate", "failed to reserve", "bad_alloc"}
)

func said(e syscall.Errno) string { return strings.ToLower(e.Error()) }

// short sees whether a build failed for want of disk or memory, by what was printed and
// by what there is in its directory now. LLVM ends the process then, as in a crash, and
// others call it a mistake of the source; but the job may be done when there is room.
func (r *result) short(dir, printed string) {
	switch r.outcome.State {
	case "", spool.JobFailed, spool.JobRefused, spool.JobElsewhere:
	default:
		return
	}
	reason, text := cmp.Or(r.crash, r.outcome.Reason), strings.ToLower(printed)
	among := func(s string) bool { return strings.Contains(text, s) }
	if why := full(dir); why != "" {
		r.full, reason = true, reason+" ("+why+")"
	}
	// Where there is room, a text may be one that a job prints wherever it is built.
	if r.full || slices.ContainsFunc(noDisk, among) || slices.ContainsFunc(noMemory, among) {
		r.crash, r.outcome = "", spool.Outcome{State: spool.JobElsewhere, Reason: reason}
	}
}
