//go:build !nogpu

package layer_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/gpu/opencl/layer"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
)

func init() {
	children["partial"] = partialChild
	children["locked"] = lockedChild
	children["refused"] = refusedChild
	children["shared"] = sharedChild
}

// two returns PoCL's two devices.
func two() ([]*opencl.Device, error) {
	all, err := opencl.Devices(opencl.AnyType)
	if err != nil {
		return nil, err
	}
	var devices []*opencl.Device
	for _, d := range all {
		if d.Platform().Suffix == "POCL" {
			devices = append(devices, d)
		}
	}
	if len(devices) != 2 {
		return nil, fmt.Errorf("%d devices, want 2", len(devices))
	}
	return devices, nil
}

// partialChild has a program stored for one of two devices, and then asks for it
// for both, in either order.
func partialChild() error {
	devices, err := two()
	if err != nil {
		return err
	}
	root := kernstash.Options{Dir: os.Getenv(rootVariable)}
	if err := warmFor(root, devices[0]); err != nil {
		return err
	}
	l, err := layer.Open(at(root.Dir))
	if err != nil {
		return err
	}
	var said []any
	for _, order := range [][]*opencl.Device{{devices[0], devices[1]}, {devices[1], devices[0]}} {
		h, err := makeHost(l, order...)
		if err != nil {
			return err
		}
		said = append(said, h.build(source(1), &none).how)
	}
	fmt.Print(resultMark)
	fmt.Print(said[0], " ", said[1])
	return l.Close()
}

// warmFor has a program stored for a device, through the Go library.
func warmFor(root kernstash.Options, d *opencl.Device) error {
	cache, err := kernstash.Open(root)
	if err != nil {
		return err
	}
	o := opencl.CachedOptions{Runtime: opencl.RuntimeOptions{SpecializeLocalSizes: [][3]int{{64, 1, 1}}}}
	x, err := opencl.NewContextWith(cache, o, d)
	if err != nil {
		return err
	}
	m, err := kernstash.NewImage(key.OpenCLC, []byte(source(1)))
	if err != nil {
		return err
	}
	return errors.Join(x.Preload(context.Background(), kernstash.Request{Image: m}), x.Close(), cache.Close())
}

// refusedChild has a program stored for two devices, one of which refuses it. It
// says what was done, twice, and which launches are left for the worker.
func refusedChild() error {
	devices, err := two()
	if err != nil {
		return err
	}
	root := kernstash.Options{Dir: os.Getenv(rootVariable)}
	for _, d := range devices {
		if err := warmFor(root, d); err != nil {
			return err
		}
	}
	l, err := layer.Open(at(root.Dir))
	if err != nil {
		return err
	}
	h, err := makeHost(l, devices...)
	if err != nil {
		return err
	}
	h.refuse = map[int]bool{1: true}
	first := h.build(source(1), &none)
	l.Launched(first.number, "put1", [3]uintptr{0, 64, 64})
	l.Settle()
	second := h.build(source(1), &none)
	l.Settle()
	s := l.Cache.Stats()
	fmt.Printf("%s%q %q, %d hits, %d refused, %d jobs", resultMark, first.how, second.how,
		s[stats.DiskHits], s[stats.Of(reason.MissRefused)], s[stats.JobsAdded])
	return l.Close()
}

// lockedChild asks for a program for two devices, while somebody else builds it
// for one of them; and then whether it compiles. It says whether it was told before that
// one was through, and what.
func lockedChild() error {
	devices, err := two()
	if err != nil {
		return err
	}
	root := kernstash.Options{Dir: os.Getenv(rootVariable)}
	cache, err := kernstash.Open(kernstash.Options{NoDisk: true})
	if err != nil {
		return err
	}
	x, err := opencl.NewContext(cache, devices...)
	if err != nil {
		return err
	}
	m, err := kernstash.NewImage(key.OpenCLC, []byte(source(1)))
	if err != nil {
		return err
	}
	p, err := x.Core().Program(context.Background(), kernstash.Request{Image: m})
	if err != nil {
		return err
	}
	build := p.Key(1)
	p.Release()
	id, err := devices[1].Identify()
	if err != nil {
		return err
	}
	id.API = "opencl-compiled"
	compile := key.New(id.Digest(), build.Image, build.Constants, build.Options)
	if err := errors.Join(x.Close(), cache.Close()); err != nil {
		return err
	}
	l, err := layer.Open(at(root.Dir))
	if err != nil {
		return err
	}
	h, err := makeHost(l, devices...)
	if err != nil {
		return err
	}
	fmt.Print(resultMark)
	for _, what := range []layer.What{layer.Build, layer.Compile} {
		k := map[layer.What]key.Key{layer.Build: build, layer.Compile: compile}[what]
		unlock, err := disk.New(disk.Options{Dir: root.Dir}).Lock(context.Background(), k, 0)
		if err != nil {
			return err
		}
		r := h.request(source(1), &none)
		r.What = what
		if what == layer.Compile {
			r.Units[0].Options = &none
		}
		ticket, reply, ok := l.Ask(r)
		fmt.Printf("at once %v, ", ok)
		unlock()
		for !ok {
			reply, ok = ticket.Wait(time.Second)
		}
		ticket.End()
		fmt.Printf("action %d, %d devices, kind %v; ", reply.Action, len(reply.Artifacts), reply.Artifacts[1].Kind)
	}
	return l.Close()
}

// sharedChild has threads ask whether a unit compiles, for two devices and for the second
// of them, while a first one compiles it for both. It says what they are given.
func sharedChild() error {
	devices, err := two()
	if err != nil {
		return err
	}
	l, err := layer.Open(at(os.Getenv(rootVariable)))
	if err != nil {
		return err
	}
	begin := func(devices ...*opencl.Device) (*layer.Ticket, layer.Reply, bool, error) {
		h, err := makeHost(l, devices...)
		if err != nil {
			return nil, layer.Reply{}, false, err
		}
		r := h.request(source(1), &none)
		r.What, r.Units[0].Options = layer.Compile, &none
		ticket, reply, ok := l.Ask(r)
		return ticket, reply, ok, nil
	}
	first, reply, ok, err := begin(devices...)
	if err != nil || !ok || len(reply.Artifacts) != 2 || len(reply.Artifacts[0].Binary)+len(reply.Artifacts[1].Binary) != 0 {
		return fmt.Errorf("the first: %+v, %v, %w", reply, ok, err)
	}
	var others []*layer.Ticket
	for _, set := range [][]*opencl.Device{devices, devices[1:], {devices[1], devices[0]}} {
		ticket, reply, ok, err := begin(set...)
		if err != nil || ok {
			return fmt.Errorf("another one: %+v, %w", reply, err)
		}
		others = append(others, ticket)
	}
	first.Next([]layer.Outcome{{Result: front.Built}, {Result: front.Built}})
	first.End()
	fmt.Print(resultMark)
	for _, ticket := range others {
		reply, ok := ticket.Wait(time.Minute)
		fmt.Printf("%v action %d", ok, reply.Action)
		outcomes := make([]layer.Outcome, len(reply.Artifacts))
		for i := range outcomes {
			fmt.Printf(" %q", reply.Artifacts[i].Binary)
			outcomes[i].Result = front.Restored
		}
		done, _ := ticket.Next(outcomes)
		fmt.Printf(" done %v; ", done.Action == front.Done && done.Saved == 0)
		ticket.End()
	}
	s := l.Cache.Stats()
	fmt.Printf("builds %d, waits %d and %d, hits %d", s[stats.Builds], s[stats.MemoryWaits], s[stats.DiskWaits], s[stats.DiskHits])
	return l.Close()
}
