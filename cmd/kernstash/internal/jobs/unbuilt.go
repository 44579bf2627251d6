package jobs

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/worker"
)

// Unbuilt says, by the short form of keys, why a worker has not built a program that was left to it before begun. Whatever
// cannot be read stays unsaid.
func Unbuilt(ctx context.Context, d *disk.Store, begun time.Time) map[string]string {
	why := make(map[string]string)
	const shortDigits = 12 // of a key in a report
	short := func(job string) string { return job[:min(len(job), shortDigits)] }
	waiting, _ := spool.List(ctx, d)
	for _, j := range waiting {
		if j.Added.Before(begun) && j.Kind() != spool.Upload {
			why[short(j.Name)] = "it waits for a worker"
		}
	}
	status, _ := worker.Ask(ctx, d)
	said := make(map[string]bool)
	for _, e := range status.Last { // the newest first
		key := short(e.Job)
		if spool.KindOf(e.Job) == spool.Upload {
			continue
		}
		if why[key] != "" && !said[key] && e.Reason != "" && (e.State == "failed" || e.State == "elsewhere") {
			why[key] = "a worker has not done it yet: " + e.Reason
		}
		said[key] = true
	}
	refusals, _ := spool.Refusals(ctx, d, math.MaxInt)
	for _, r := range refusals {
		if spool.KindOf(r.Job) == spool.Upload {
			continue
		}
		why[short(r.Job)] = strings.TrimSuffix("a worker gave it up: "+r.Reason, ": ")
	}
	return why
}
