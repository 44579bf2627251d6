package launch

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/internal/settings"
)

// startWorker starts a worker if jobs are left. Whoever leaves a job does so too,
// off the application's path: an application that ends in the next milliseconds
// has not come to it. Where a worker runs, ours finds that and ends.
func (r *runner) startWorker() {
	s := r.outcome.summary
	if s == nil || s.Jobs+s.Outcomes.Compiled == 0 {
		return // nothing was left; what waits may wait for another machine
	}
	in := load(r.env)
	if in.Disable || !in.Persistent || in.Mode == settings.ModeReadOnly || in.Worker == settings.WorkerOff || !jobsIn(in.Dir) {
		return
	}
	self, err := os.Executable()
	if err != nil {
		return
	}
	// What becomes of it is nobody's concern: jobs wait.
	_ = detach(self, []string{"kernstash", "worker", "run", "--quiet"}, r.env.forWorker())
}

// jobsIn says whether jobs wait in a root. It looks at names alone: the worker
// looks closer.
func jobsIn(root string) bool {
	spool := filepath.Join(root, ".meta", "spool")
	dirs, err := os.ReadDir(spool)
	if err != nil {
		return false
	}
	for _, d := range dirs {
		if !d.IsDir() {
			continue
		}
		files, _ := os.ReadDir(filepath.Join(spool, d.Name()))
		for _, f := range files {
			if strings.Count(f.Name(), ".") == 1 && f.Type().IsRegular() {
				return true
			}
		}
	}
	return false
}

// forWorker returns the variables for a process of ours, which has no layer and
// tells nobody.
func (e environ) forWorker() environ {
	var out environ
	for _, kv := range e {
		ours := false
		for _, with := range []string{"LD_PRELOAD=", "LD_AUDIT=", layerVariables, DoorVariable + "=", runlog.Variable + "="} {
			ours = ours || strings.HasPrefix(kv, with)
		}
		if !ours {
			out = append(out, kv)
		}
	}
	return out
}
