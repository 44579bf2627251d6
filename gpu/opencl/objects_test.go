//go:build !nogpu

package opencl_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/key"
)

func TestPlatformAndDeviceDescribeThemselves(t *testing.T) {
	t.Parallel()
	d := device(t)
	p := d.Platform()
	for name, value := range map[string]string{
		"platform name": p.Name, "platform vendor": p.Vendor, "platform version": p.Version,
		"device name": d.Name, "device vendor": d.Vendor, "device version": d.Version, "driver": d.Driver, "OpenCL C": d.CVersion,
	} {
		if value == "" || strings.ContainsRune(value, 0) {
			t.Errorf("%s is %q", name, value)
		}
	}
	l := d.Limits
	if l.ComputeUnits < 1 || l.WorkGroup < 1 || l.WorkItems[0] < 1 || l.AddressBits != 64 || l.GlobalMemory == 0 || l.LocalMemory == 0 || l.Allocation == 0 {
		t.Errorf("limits %+v", l)
	}
	if d.Type&opencl.CPU == 0 || d.Type.String() == "" || d.Kind() != opencl.Deferred || d.Parent() != nil || d.Handle() == 0 {
		t.Errorf("type %v, kind %v", d.Type, d.Kind())
	}
	if !d.Has("cl_khr_byte_addressable_store") || d.Has("cl_khr_none") {
		t.Errorf("extensions %q", d.Extensions)
	}
	if err := d.Release(); err != nil || d.Handle() == 0 {
		t.Errorf("a root device was released: %v", err)
	}
	none, err := p.Devices(opencl.Accelerator)
	if err != nil || len(none) != 0 {
		t.Errorf("accelerators: %d, %v", len(none), err)
	}
}

func TestBuffers(t *testing.T) {
	t.Parallel()
	c := open(t)
	q := queue(t, c)
	a, b := buffer(t, c, 64), buffer(t, c, 64)
	data := []byte("sixteen bytes ..")
	got := make([]byte, 64)
	for _, err := range []error{
		q.Fill(a, []byte{1, 2}, 0, 64), q.Write(a, 16, data), q.Copy(a, 0, b, 32, 32), q.Copy(a, 0, b, 0, 32),
		q.Read(b, 0, got), q.Write(a, 0, nil), q.Flush(), q.Finish(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	half := strings.Repeat("\x01\x02", 8) + string(data)
	if diff := cmp.Diff(half+half, string(got)); diff != "" {
		t.Error(diff)
	}
	for name, err := range map[string]error{
		"read beyond":    q.Read(a, 60, make([]byte, 8)),
		"negative":       q.Write(a, -1, data),
		"copy beyond":    q.Copy(a, 0, b, 60, 8),
		"overflow":       q.Fill(a, []byte{0}, math.MaxInt, 8),
		"negative size":  q.Fill(a, []byte{0}, 0, -1),
		"copy overflows": q.Copy(a, 0, b, math.MaxInt, 8),
	} {
		if !errors.Is(err, opencl.ErrArgument) {
			t.Errorf("%s: %v, want ErrArgument", name, err)
		}
	}
	if _, err := c.NewBuffer(opencl.ReadWrite, 0); !errors.Is(err, opencl.ErrArgument) {
		t.Errorf("empty buffer: %v", err)
	}
	if _, err := c.NewBuffer(opencl.ReadWrite, 1<<60); !errors.Is(err, opencl.InvalidBufferSize) && !errors.Is(err, kernstash.ErrOutOfResources) {
		t.Errorf("buffer of 2^60 bytes: %v", err)
	}
}

const invertSource = `
constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
kernel void invert(read_only image2d_t in, write_only image2d_t out)
{
	int2 at = (int2)(get_global_id(0), get_global_id(1));
	write_imageui(out, at, 255 - read_imageui(in, nearest, at));
}`

func TestImages(t *testing.T) {
	t.Parallel()
	c := open(t)
	if !c.Devices()[0].Limits.Images {
		t.Fatal("PoCL offers images, this device does not")
	}
	q := queue(t, c)
	format := opencl.ImageFormat{Order: opencl.RGBA, Type: opencl.UnsignedInt8}
	in, err := c.NewImage(opencl.ReadOnly, format, 8, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer released(t, in)
	out, err := c.NewImage(opencl.WriteOnly, format, 8, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer released(t, out)
	r := opencl.NewRuntime(c, opencl.RuntimeOptions{})
	k := kernel(t, build(t, r, job(t, r, key.BuildOptions{}, source(invertSource))), "invert")
	pixels, want, got := make([]byte, in.Bytes()), make([]byte, in.Bytes()), make([]byte, in.Bytes())
	for i := range pixels {
		pixels[i], want[i] = byte(i), 255-byte(i)
	}
	for _, err := range []error{q.WriteImage(in, pixels), k.Launch(q, []int{8, 4}, []int{4, 2}, in, out), q.ReadImage(out, got)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if w, h := in.Size(); w != 8 || h != 4 {
		t.Errorf("%d × %d pixels", w, h)
	}
	if err := q.WriteImage(in, pixels[1:]); !errors.Is(err, opencl.ErrArgument) {
		t.Errorf("short write: %v", err)
	}
	if _, err := c.NewImage(opencl.ReadOnly, opencl.ImageFormat{}, 8, 4); !errors.Is(err, opencl.ErrArgument) {
		t.Errorf("image without format: %v", err)
	}
}

func TestEventsTellStatusAndTimes(t *testing.T) {
	t.Parallel()
	c := open(t)
	q, err := c.NewQueue(c.Devices()[0], opencl.QueueOptions{Profiling: true, OutOfOrder: true})
	if err != nil {
		t.Fatal(err)
	}
	defer released(t, q)
	r := opencl.NewRuntime(c, opencl.RuntimeOptions{})
	k := kernel(t, build(t, r, job(t, r, key.BuildOptions{}, source("kernel void inc(global int *a) { a[get_global_id(0)]++; }"))), "inc")
	b := buffer(t, c, 4*256)
	if err := q.Fill(b, make([]byte, 4), 0, 4*256); err != nil {
		t.Fatal(err)
	}
	if err := q.Finish(); err != nil {
		t.Fatal(err)
	}
	var wait []*opencl.Event
	for range 5 {
		e, err := k.LaunchRange(q, opencl.Range{Global: []int{256}, Local: []int{64}, Wait: wait}, b)
		if err != nil {
			t.Fatal(err)
		}
		defer released(t, e)
		wait = []*opencl.Event{e}
	}
	got := make([]int32, 256)
	if err := q.Read(b, 0, opencl.Bytes(got), wait...); err != nil {
		t.Fatal(err)
	}
	for i, n := range got {
		if n != 5 {
			t.Fatalf("element %d is %d after five launches", i, n)
		}
	}
	last := wait[0]
	if err := last.Wait(); err != nil {
		t.Fatal(err)
	}
	if s, err := last.Status(); err != nil || s != opencl.Complete {
		t.Errorf("status %v, %v", s, err)
	}
	times, err := last.Times()
	if err != nil || times.Queued > times.Started || times.Run() < 0 || times.Run() > time.Minute {
		t.Errorf("times %+v, %v", times, err)
	}
	plain := queue(t, c)
	e, err := k.LaunchRange(plain, opencl.Range{Global: []int{1}}, b)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Times(); !errors.Is(err, opencl.ProfilingInfoNotAvailable) {
		t.Errorf("times without profiling: %v", err)
	}
	released(t, e)
	if err := e.Wait(); !errors.Is(err, opencl.ErrReleased) {
		t.Errorf("released event: %v", err)
	}
}

func TestReleasedObjectsSaySo(t *testing.T) {
	t.Parallel()
	d := device(t)
	c, err := opencl.Open(d)
	if err != nil {
		t.Fatal(err)
	}
	q, err := c.NewQueue(d, opencl.QueueOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.NewBuffer(opencl.ReadOnly, 8)
	if err != nil {
		t.Fatal(err)
	}
	r := opencl.NewRuntime(c, opencl.RuntimeOptions{})
	j := job(t, r, key.BuildOptions{}, source("kernel void nothing(global int *a) {}"))
	p, _, err := r.Build(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	k, err := r.Kernel(p, "nothing")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Kernel(p, "other"); !errors.Is(err, opencl.InvalidKernelName) {
		t.Errorf("unknown kernel: %v", err)
	}
	for range 2 {
		for _, o := range []interface{ Release() error }{k, p, b, q, c} {
			released(t, o)
		}
	}
	_, kerr := p.NewKernel("nothing")
	_, nerr := p.KernelNames()
	_, berr := p.Binary()
	_, qerr := c.NewQueue(d, opencl.QueueOptions{})
	_, merr := c.NewBuffer(opencl.ReadOnly, 8)
	_, _, builderr := r.Build(t.Context(), j)
	_, werr := k.WorkGroup()
	for name, err := range map[string]error{
		"NewKernel": kerr, "KernelNames": nerr, "Binary": berr, "NewQueue": qerr, "NewBuffer": merr, "Build": builderr,
		"Launch": k.Launch(q, []int{1}, nil, b), "Read": q.Read(b, 0, make([]byte, 8)), "Finish": q.Finish(), "WorkGroup": werr,
	} {
		if !errors.Is(err, opencl.ErrReleased) {
			t.Errorf("%s: %v, want ErrReleased", name, err)
		}
	}
}

func TestAdoptedContextStaysTheApplications(t *testing.T) {
	t.Parallel()
	own := open(t)
	for range 2 { // the second time shows that the first took nothing away
		c, err := opencl.Adopt(own.Handle())
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Devices()) != 1 || c.Devices()[0].Handle() != own.Devices()[0].Handle() || c.Devices()[0].Platform().Suffix != "POCL" {
			t.Errorf("devices %v", c.Devices())
		}
		r := opencl.NewRuntime(c, opencl.RuntimeOptions{})
		p, _, err := r.Build(t.Context(), job(t, r, key.BuildOptions{}, source(addSource)))
		if err != nil {
			t.Fatal(err)
		}
		released(t, p)
		released(t, c)
	}
	if _, err := own.NewBuffer(opencl.ReadWrite, 8); err != nil {
		t.Errorf("the application's context after Adopt and Release: %v", err)
	}
	if _, err := opencl.Adopt(0); !errors.Is(err, opencl.ErrArgument) {
		t.Errorf("adopting NULL: %v", err)
	}
}

func TestOpenWantsDevicesOfOnePlatform(t *testing.T) {
	t.Parallel()
	if _, err := opencl.Open(); !errors.Is(err, opencl.ErrArgument) {
		t.Errorf("no device: %v", err)
	}
}

func TestErrorsNameCallAndCode(t *testing.T) {
	t.Parallel()
	d := device(t)
	_, err := d.SubDevicesEqually(0)
	var e *opencl.Error
	if !errors.As(err, &e) || e.Call != "clCreateSubDevices" || e.Code != opencl.InvalidValue {
		t.Fatalf("err = %#v", err)
	}
	if !strings.Contains(err.Error(), "clCreateSubDevices: CL_INVALID_VALUE (-30)") {
		t.Errorf("message %q", err)
	}
}

func TestWorkGroup(t *testing.T) {
	t.Parallel()
	c := open(t)
	r := opencl.NewRuntime(c, opencl.RuntimeOptions{})
	k := kernel(t, build(t, r, job(t, r, key.BuildOptions{},
		source("kernel __attribute__((reqd_work_group_size(8, 2, 1))) void fixed(global int *a) { a[0] = 1; }"))), "fixed")
	w, err := k.WorkGroup()
	if err != nil || w.Required != [3]int{8, 2, 1} || w.Size < 16 {
		t.Errorf("work group %+v, %v", w, err)
	}
	if k.Name() != "fixed" || k.Handle() == 0 {
		t.Errorf("kernel %q", k.Name())
	}
}
