//go:build nogpu

package main

import "github.com/kernstash/kernstash/store/disk"

func buildJob(disk.Options) error { return errNoRuntimes }
