//go:build nogpu

package main

import "github.com/kernstash/kernstash/store/disk"

func buildJob(*disk.Store) error { return errNoRuntimes }
