package main

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/worker"
)

// stashJob adds a job to the cache DIR as the OpenCL layer does, for the device
// that is here: FILE, launched as VARIANT.
func stashJob(args []string) error {
	devices, err := opencl.Devices(opencl.AnyType)
	if err != nil {
		return err
	}
	device := devices[0]
	id, err := device.Identify()
	if err != nil {
		return err
	}
	source, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	image, err := key.NewImage(key.OpenCLC, source)
	if err != nil {
		return err
	}
	r := &key.Recipe{Device: id, Image: image, Options: key.BuildOptions{Absent: true, Variables: device.Variables()}}
	d := disk.New(disk.Options{Dir: args[0]})
	defer d.Close()
	_, err = spool.Add(context.Background(), d, spool.Job{
		Kind: spool.Capture, Recipe: r, Variants: args[2:], Cost: time.Second, Environment: spool.Take(os.Environ(), r, ""),
	}, nil)
	return err
}

// waitsForWorker waits until a worker runs, and has said so, for the cache that the script
// has set.
func waitsForWorker(ts *testscript.TestScript, neg bool, args []string) {
	d := disk.New(disk.Options{Dir: ts.Getenv("KERNSTASH_DIR")})
	defer d.Close()
	for range 3600 {
		if st, err := worker.Ask(context.Background(), d); err == nil && st.Running && !st.Started.IsZero() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("no worker runs")
}

// stashOld makes the entries of the cache DIR those of an earlier driver.
func stashOld(args []string) error {
	ctx := context.Background()
	d := disk.New(disk.Options{Dir: args[0]})
	defer d.Close()
	for info, err := range d.List(ctx) {
		if err != nil {
			return err
		}
		if info.Device.Driver == "0.1" {
			continue // one that was made meanwhile
		}
		e, err := d.Get(ctx, info.Key)
		if err != nil {
			return err
		}
		r, err := d.Recipe(ctx, info.Key)
		if err != nil {
			return err
		}
		old := *r
		old.Device.Driver = "0.1"
		if _, err := d.Put(ctx, &store.Entry{Key: old.Key(), Recipe: &old, Artifact: e.Artifact}); err != nil {
			return err
		}
		if err := d.Delete(ctx, info.Key); err != nil {
			return err
		}
	}
	return nil
}

// stashChanged changes the machine code of a kernel's entry in the cache DIR, in all its digests: what a compiler makes
// that is not deterministic.
func stashChanged(args []string) error {
	ctx := context.Background()
	d := disk.New(disk.Options{Dir: args[0]})
	defer d.Close()
	for info, err := range d.List(ctx) {
		if err != nil {
			return err
		}
		if info.Device.Driver == "0.1" || !slices.Equal(info.Kernels, args[1:]) {
			continue
		}
		e, err := d.Get(ctx, info.Key)
		if err != nil {
			return err
		}
		r, err := d.Recipe(ctx, info.Key)
		if err != nil {
			return err
		}
		a := e.Artifact.Clone()
		code := a.Binaries[0].Data
		at := bytes.LastIndex(code, []byte(elf.ELFMAG))
		f, err := elf.NewFile(bytes.NewReader(code[max(at, 0):]))
		if err != nil {
			return err
		}
		code[at+int(f.Section(".text").Offset)] ^= 1
		if err := d.Delete(ctx, info.Key); err != nil {
			return err
		}
		if _, err := d.Put(ctx, &store.Entry{Key: info.Key, Recipe: r, Artifact: a}); err != nil {
			return err
		}
		return nil
	}
	return fmt.Errorf("no entry has the kernel %q", args[1])
}
