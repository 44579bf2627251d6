package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/worker"
)

// newRebuilds returns what is to be built anew for the devices that are here.
func newRebuilds(ctx context.Context, d *disk.Store, counts *stats.Counters) (*worker.Rebuilds, error) {
	var devices []key.Device
	if err := askSelf(ctx, []string{"worker-devices"}, nil, &devices); err != nil {
		return nil, fmt.Errorf("worker: which devices are here: %w", err)
	}
	return worker.NewRebuilds(worker.RebuildOptions{Store: d, Devices: devices, Environ: os.Environ(), Recorder: counts}), nil
}

// workerDevicesCommand is how a worker asks for the devices that are here: drivers may
// end the process that loads them.
func (a *app) workerDevicesCommand() *cobra.Command {
	var report string
	cmd := &cobra.Command{
		Use:    "worker-devices",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			all, err := devicesHere()
			if err != nil {
				return err
			}
			return answerTo(report, all)
		},
	}
	cmd.Flags().StringVar(&report, "report", "", "")
	return cmd
}

// devicesHere are the devices whose entries are known to be told from others'.
func devicesHere() (all []key.Device, err error) {
	devices, err := allDevices()
	if err != nil {
		return nil, err
	}
	for _, d := range devices {
		if id, err := d.Identify(); err == nil {
			all = append(all, id)
		}
	}
	return all, nil
}
