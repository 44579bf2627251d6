//go:build !nogpu

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/kernstash/kernstash/gpu/levelzero"
)

func checkLevelZero(ctx context.Context, r *doctorReport, quick bool) bool {
	const subject = "Level Zero"
	devices, err := levelzero.Devices()
	switch {
	case errors.Is(err, levelzero.ErrUnavailable):
		r.add(subject, verdictInfo, "", "not here: %v", err)
		return false
	case err != nil:
		r.add(subject, verdictWarn, "check the driver, its environment, and the permissions of /dev/dri", "%v", err)
		return false
	case len(devices) == 0:
		r.add(subject, verdictInfo, "", "not here: the drivers list no device")
		return false
	}
	works := false
	for i, d := range devices {
		r.devices = true
		subject := fmt.Sprintf("Level Zero device %d, %s", i, d.Name)
		r.add(subject, verdictInfo, "", "%v, driver %s, Level Zero %s, %d compute units", d.Type, d.Driver().Version, d.Driver().APIVersion, d.Limits.ComputeUnits)
		identity, err := d.Identify()
		ok := r.addIdentity(subject, identity, err, d.Variables())
		switch {
		case d.SPIRV == "":
			r.add(subject, verdictInfo, "", "takes no SPIR-V, so nothing is compiled for it")
			ok = false
		case ok && !quick:
			ok = r.addProbe(subject, probeDevice(ctx, levelzeroMachine, d))
		}
		works = works || ok
	}
	return works
}
