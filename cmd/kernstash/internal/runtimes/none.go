//go:build nogpu

// Package runtimes reaches no GPU runtime: what does so is not linked.
package runtimes

import (
	"github.com/kernstash/kernstash/cmd/kernstash/internal/builder"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/doctor"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/machine"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store/disk"
)

var (
	Doctor   []doctor.Runtime
	Machines []machine.Runtime
)

// OpenBuilder returns an error.
func OpenBuilder(runtime string, _ builder.Options) (builder.Builder, string, error) {
	return nil, runtime, cli.ErrNoRuntimes
}

// Identities returns an error.
func Identities() ([]key.Device, error) { return nil, cli.ErrNoRuntimes }

// BuildJob returns an error.
func BuildJob(disk.Options) error { return cli.ErrNoRuntimes }
