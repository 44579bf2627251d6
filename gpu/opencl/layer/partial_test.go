//go:build !nogpu

package layer_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/gpu/opencl/layer"
	"github.com/kernstash/kernstash/key"
)

func init() { children["partial"] = partialChild }

// partialChild has a program stored for one of two devices, and then asks for it
// for both, in either order.
func partialChild() error {
	all, err := opencl.Devices(opencl.AnyType)
	if err != nil {
		return err
	}
	var devices []*opencl.Device
	for _, d := range all {
		if d.Platform().Suffix == "POCL" {
			devices = append(devices, d)
		}
	}
	if len(devices) != 2 {
		return fmt.Errorf("%d devices, want 2", len(devices))
	}
	root := kernstash.Options{Dir: os.Getenv(rootVariable)}
	cache, err := kernstash.Open(root)
	if err != nil {
		return err
	}
	o := opencl.CachedOptions{Runtime: opencl.RuntimeOptions{SpecializeLocalSizes: [][3]int{{64, 1, 1}}}}
	x, err := opencl.NewContextWith(cache, o, devices[0])
	if err != nil {
		return err
	}
	m, err := kernstash.NewImage(key.OpenCLC, []byte(source(1)))
	if err != nil {
		return err
	}
	if err := x.Preload(context.Background(), kernstash.Request{Image: m}); err != nil {
		return err
	}
	if err := errors.Join(x.Close(), cache.Close()); err != nil {
		return err
	}
	l, err := layer.Open(layer.Options{Cache: root})
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
