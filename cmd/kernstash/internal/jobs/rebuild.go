package jobs

import (
	"context"
	"fmt"
	"os"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/worker"
)

// newRebuilds returns what is to be built anew for the devices that are here.
func newRebuilds(ctx context.Context, d *disk.Store, counts *stats.Counters) (*worker.Rebuilds, error) {
	var devices []key.Device
	if err := cli.AskPart(ctx, "worker-devices", struct{}{}, nil, &devices); err != nil {
		return nil, fmt.Errorf("worker: which devices are here: %w", err)
	}
	return worker.NewRebuilds(worker.RebuildOptions{Store: d, Devices: devices, Environ: os.Environ(), Recorder: counts}), nil
}
