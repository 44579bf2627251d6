package opencl

import (
	"github.com/kernstash/kernstash/gpu/opencl/internal/driver"
	"github.com/kernstash/kernstash/gpu/opencl/pocl"
	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/key"
)

// known is a driver, and what was seen of it in this process.
type known struct {
	driver.Driver
	seen drivers.Seen
}

// knownDrivers are PoCL's and those of package driver, in the end the one for all others.
var knownDrivers = func() (all []*known) {
	for _, d := range append([]driver.Driver{pocl.New()}, driver.Known...) {
		all = append(all, &known{Driver: d})
	}
	return all
}()

func (p *Platform) driver() *known {
	for _, k := range knownDrivers {
		if k.Is(p.Name, p.Suffix) {
			return k
		}
	}
	return nil // not reached: the last is of any platform
}

// deferrer returns the platform's driver if that makes code at launches, else nil.
func (p *Platform) deferrer() driver.Deferrer {
	d, _ := p.driver().Driver.(driver.Deferrer)
	return d
}

// asked returns the platform as its driver is asked about it.
func (p *Platform) asked() driver.Platform {
	return driver.Platform{ID: p.id, Name: p.Name, Vendor: p.Vendor, Version: p.Version, Suffix: p.Suffix, Env: p.env}
}

// asked returns the device as its driver is asked about it.
func (d *Device) asked() driver.Device {
	return driver.Device{
		Platform: d.platform.asked(), Device: d.id(), Ask: d.platform.ask, Driver: d.Driver, CVersion: d.CVersion,
		Type: d.Type.String(), CPU: d.Type&CPU != 0, GPU: d.Type&GPU != 0, AddressBits: d.Limits.AddressBits, Has: d.Has,
	}
}

// IsKnown reports whether the platform's driver is one of which this package knows when its code
// is complete. Others are taken to be Final, and the layer leaves them alone.
func (p *Platform) IsKnown() bool { return p.driver() != knownDrivers[len(knownDrivers)-1] }

// OwnCache reports whether the platform's driver has a cache of its own that matters to what
// kernstash restores, and whether that is off in a process with an environment. An error says
// why programs cannot be restored safely there.
func (p *Platform) OwnCache(environ []string) (has, off bool, err error) {
	d := p.deferrer()
	if d == nil {
		return false, false, nil
	}
	off, err = d.CacheOff(p.asked(), environ)
	return true, off, err
}

// Kind says when a driver's code is complete, and so when it is worth taking.
type Kind uint8

// The kinds of driver.
const (
	Final        Kind = iota // machine code when the build returns; also every driver that is not known
	Intermediate             // the binary is assembled again at each load
	Deferred                 // code is made at the first launch of a local size
)

func (k Kind) String() string { return [...]string{"final", "intermediate", "deferred"}[k] }

// Kind returns the kind of the device's driver.
func (d *Device) Kind() Kind {
	switch d.platform.driver().Driver.(type) {
	case driver.Deferrer:
		return Deferred
	case driver.NVIDIA:
		return Intermediate
	}
	return Final
}

// TellsNoOptions reports whether the driver may make another program of no options at all (C's
// NULL) than of empty ones.
func (d *Device) TellsNoOptions() bool { return d.platform.driver().TellsNoOptions() }

// FromDriversCache reports whether a binary that a build of a recipe gave is what the driver kept
// in a cache of its own, which may have missed that a header changed.
func FromDriversCache(r *key.Recipe, binary []byte) bool { return driver.FromOwnCache(r, binary) }
