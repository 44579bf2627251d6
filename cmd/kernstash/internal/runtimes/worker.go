package runtimes

import (
	"os"

	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/worker/build"
)

// BuildJob is the whole of a process that does one job. It ends there: ending is
// what drivers are worst at.
func BuildJob(o disk.Options) error {
	counts := new(stats.Counters)
	o.Recorder = counts
	d := disk.New(o)
	do := make(map[string]build.Do)
	for _, rt := range All {
		if rt.Job != nil {
			do[rt.Name] = rt.Job
		}
	}
	status := build.Main(d, do)
	_ = d.AddStats(counts.Snapshot())
	_ = d.Close()
	os.Exit(status)
	return nil
}
