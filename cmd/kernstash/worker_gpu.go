//go:build !nogpu

package main

import (
	"os"

	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/worker/build"
)

// buildJob is the whole of a process that does one job. It ends there: ending is
// what drivers are worst at.
func buildJob(d *disk.Store) error {
	os.Exit(build.Main(d))
	return nil
}
