//go:build !nogpu && linux

package levelzero_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/gpu/levelzero"
	"github.com/kernstash/kernstash/key"
)

func TestDriverAndDevice(t *testing.T) {
	t.Parallel()
	d := device(t)
	if d.Driver().APIVersion != "1.3" || !strings.HasPrefix(d.Driver().Version, "1.3.") || !d.Driver().Has("ZE_experimental_module_program") {
		t.Errorf("driver %+v", d.Driver())
	}
	// Tiger Lake with one slice of six subslices of sixteen units.
	if d.Type != levelzero.GPU || d.VendorID != 0x8086 || d.SPIRV != "1.2" || d.Limits.ComputeUnits != 96 || d.Limits.Group != 512 {
		t.Errorf("device %+v", d)
	}
	parts, err := d.SubDevices()
	if err != nil || len(parts) != 0 {
		t.Errorf("parts %v, %v", parts, err)
	}
}

func TestModuleFromSPIRVAndFromNative(t *testing.T) {
	t.Parallel()
	c := open(t)
	for _, x := range []struct {
		name    string
		flags   string
		kernels []string
	}{
		{"kernels", "", []string{"required", "add"}},
		{"kernels", "-ze-take-global-address", []string{"required", "add", "Intel_Symbol_Table_Void_Program"}},
		{"spills", "-ze-opt-disable", []string{"spills"}},
		{"images", "", []string{"g"}},
	} {
		t.Run(x.name+x.flags, func(t *testing.T) {
			flags := &x.flags
			if x.flags == "" {
				flags = nil
			}
			m := build(t, c, levelzero.ModuleDesc{SPIRV: [][]byte{spirv(t, x.name)}, Flags: flags})
			native, err := m.Native()
			if err != nil || len(native) == 0 {
				t.Fatalf("%d bytes, %v", len(native), err)
			}
			restored := build(t, c, levelzero.ModuleDesc{Native: native, Flags: flags})
			again, err := restored.Native()
			if err != nil || !bytes.Equal(again, native) {
				t.Errorf("other code: %d bytes, not %d; %v", len(again), len(native), err)
			}
			for _, one := range []*levelzero.Module{m, restored} {
				names, err := one.KernelNames()
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(x.kernels, names); diff != "" {
					t.Error(diff)
				}
				if imports, err := one.Imports(); err != nil || imports {
					t.Errorf("imports %v, %v", imports, err)
				}
			}
		})
	}
}

func TestKernelAndLaunch(t *testing.T) {
	t.Parallel()
	c := open(t)
	d := c.Devices()[0]
	m := build(t, c, levelzero.ModuleDesc{SPIRV: [][]byte{spirv(t, "kernels")}})
	if _, err := m.NewKernel("none"); !errors.Is(err, levelzero.InvalidKernelName) {
		t.Errorf("err = %v", err)
	}
	required, err := m.NewKernel("required")
	if err != nil {
		t.Fatal(err)
	}
	defer released(t, required)
	info, err := required.Info()
	if err != nil || info.Args != 3 || info.Required != [3]int{16, 2, 1} {
		t.Errorf("%+v, %v", info, err)
	}
	add, err := m.NewKernel("add")
	if err != nil {
		t.Fatal(err)
	}
	defer released(t, add)
	size, err := add.SuggestGroupSize([3]int{1000, 1, 1})
	if err != nil || size[0] < 1 || 1000%size[0] != 0 {
		t.Errorf("%v, %v", size, err)
	}
	var buffers [3]*levelzero.Buffer
	for i, place := range []levelzero.Place{levelzero.OnDevice, levelzero.OnHost, levelzero.Shared} {
		if buffers[i], err = c.NewBuffer(d, place, 4000); err != nil {
			t.Fatal(err)
		}
		defer released(t, buffers[i])
	}
	list, err := c.NewList(d)
	if err != nil {
		t.Fatal(err)
	}
	defer released(t, list)
	queue, err := c.NewQueue(d)
	if err != nil {
		t.Fatal(err)
	}
	defer released(t, queue)
	event, err := c.NewEvent(d)
	if err != nil {
		t.Fatal(err)
	}
	defer released(t, event)
	if b, err := buffers[1].Bytes(); err != nil || len(b) != 4000 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if _, err := buffers[0].Bytes(); !errors.Is(err, levelzero.ErrArgument) {
		t.Errorf("err = %v", err)
	}
	for _, err := range []error{
		list.Fill(buffers[0], []byte{1, 2, 3, 4}), list.Barrier(), list.Copy(buffers[2], buffers[0], 4000),
		add.Launch(list, [3]int{1000, 1, 1}, buffers[0], buffers[1], buffers[2], int32(1000)),
		required.LaunchRange(list, levelzero.Range{Groups: [3]int{4}, Signal: event}, buffers[0], levelzero.Local(64), int32(3)),
		list.Close(), queue.Execute(list), queue.Finish(context.Background()), list.Reset(),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	if _, err := event.Done(); err != nil {
		t.Error(err)
	}
	for _, err := range []error{
		add.Launch(list, [3]int{0, 1, 1}), add.Launch(list, [3]int{1, 1, 1}, 1), add.Launch(list, [3]int{1, 1, 1}, true),
		list.Copy(buffers[0], buffers[1], 4001),
	} {
		if !errors.Is(err, levelzero.ErrArgument) {
			t.Errorf("err = %v", err)
		}
	}
	if err := required.LaunchRange(list, levelzero.Range{Group: [3]int{8, 1, 1}}); !errors.Is(err, levelzero.InvalidGroupSizeDimension) {
		t.Errorf("err = %v", err)
	}
	if err := add.Launch(list, [3]int{1, 1, 1}, buffers[0], buffers[1], buffers[2], int64(1), int32(0)); !errors.Is(err, levelzero.InvalidArgument) {
		t.Errorf("err = %v", err)
	}
}

func TestGlobalsAndFunctions(t *testing.T) {
	t.Parallel()
	c := open(t)
	flags := "-ze-take-global-address"
	m := build(t, c, levelzero.ModuleDesc{SPIRV: [][]byte{spirv(t, "kernels")}, Flags: &flags})
	if at, size, err := m.Global("counter"); err != nil || at == 0 || size != 4 {
		t.Errorf("%x, %d, %v", at, size, err)
	}
	if _, _, err := m.Global("none"); err == nil {
		t.Error("found a variable that there is not")
	}
	if at, err := m.Function("add"); err != nil || at == 0 {
		t.Errorf("%x, %v", at, err)
	}
}

// Modules that import link after they were restored as they did when they were built.
func TestLink(t *testing.T) {
	t.Parallel()
	c := open(t)
	library := "-library-compilation"
	imports := build(t, c, levelzero.ModuleDesc{SPIRV: [][]byte{spirv(t, "imports")}})
	exports := build(t, c, levelzero.ModuleDesc{SPIRV: [][]byte{spirv(t, "exports")}, Flags: &library})
	native := func(m *levelzero.Module) []byte {
		b, err := m.Native()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	imports2 := build(t, c, levelzero.ModuleDesc{Native: native(imports)})
	exports2 := build(t, c, levelzero.ModuleDesc{Native: native(exports), Flags: &library})
	if imports2.Log() != imports.Log() || !strings.Contains(imports.Log(), "unresolved external symbol helper") {
		t.Errorf("logs %q and %q", imports.Log(), imports2.Log())
	}
	for _, pair := range [][2]*levelzero.Module{{imports, exports}, {imports2, exports2}} {
		if needs, err := pair[0].Imports(); err != nil || !needs {
			t.Errorf("imports %v, %v", needs, err)
		}
		if _, err := pair[0].NewKernel("f"); !errors.Is(err, levelzero.InvalidModuleUnlinked) {
			t.Errorf("err = %v", err)
		}
		log, err := levelzero.Link(pair[0], pair[1])
		if err != nil {
			t.Errorf("%v: %s", err, log)
		}
		k, err := pair[0].NewKernel("f")
		if err != nil {
			t.Errorf("linked: %v", err)
			continue
		}
		released(t, k)
	}
}

func TestModulesOfSeveral(t *testing.T) {
	t.Parallel()
	c := open(t)
	codes := [][]byte{spirv(t, "imports"), spirv(t, "exports")}
	m := build(t, c, levelzero.ModuleDesc{SPIRV: codes})
	names, err := m.KernelNames()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%q", names)
	if imports, err := m.Imports(); err != nil || imports {
		t.Errorf("imports %v, %v", imports, err)
	}
}

func TestSpecializationConstants(t *testing.T) {
	t.Parallel()
	c := open(t)
	native := func(constants ...key.SpecConstant) []byte {
		b, err := build(t, c, levelzero.ModuleDesc{SPIRV: [][]byte{spirv(t, "scale")}, Constants: constants}).Native()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	plain, five, again, odd := native(), native(key.Uint32(7, 5)), native(key.Uint32(7, 5)), native(key.Uint32(7, 5), key.Bool(9, true))
	if !bytes.Equal(five, again) || bytes.Equal(five, plain) || bytes.Equal(five, odd) {
		t.Errorf("equal: 5 and 5 %v, 5 and none %v, 5 and odd %v", bytes.Equal(five, again), bytes.Equal(five, plain), bytes.Equal(five, odd))
	}
}

func TestReleased(t *testing.T) {
	t.Parallel()
	c, err := levelzero.Open(device(t))
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.NewModule(c.Devices()[0], levelzero.ModuleDesc{SPIRV: [][]byte{spirv(t, "kernels")}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := errors.Join(m.Release(), c.Release()); err != nil {
			t.Fatal(err)
		}
	}
	_, err1 := m.Native()
	_, err2 := m.NewKernel("add")
	_, err3 := c.NewModule(c.Devices()[0], levelzero.ModuleDesc{SPIRV: [][]byte{{1}}})
	for _, err := range []error{err1, err2, err3} {
		if !errors.Is(err, levelzero.ErrReleased) {
			t.Errorf("err = %v", err)
		}
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	c := open(t)
	d := c.Devices()[0]
	for _, desc := range []levelzero.ModuleDesc{
		{}, {SPIRV: [][]byte{{}}}, {SPIRV: [][]byte{{1}}, Native: []byte{1}},
	} {
		if _, err := c.NewModule(d, desc); !errors.Is(err, levelzero.ErrArgument) {
			t.Errorf("%v: err = %v", desc, err)
		}
	}
	if _, err := levelzero.Open(); !errors.Is(err, levelzero.ErrArgument) {
		t.Errorf("err = %v", err)
	}
	if _, err := levelzero.Adopt(0, d); !errors.Is(err, levelzero.ErrArgument) {
		t.Errorf("err = %v", err)
	}
	own, err := levelzero.Adopt(c.Handle(), d)
	if err != nil {
		t.Fatal(err)
	}
	build(t, own, levelzero.ModuleDesc{SPIRV: [][]byte{spirv(t, "exports")}})
}

// What is no code at all is refused, with the driver's own result.
func TestRefusedNative(t *testing.T) {
	t.Parallel()
	c := open(t)
	_, err := c.NewModule(c.Devices()[0], levelzero.ModuleDesc{Native: []byte("nonsense")})
	if !errors.Is(err, levelzero.InvalidNativeBinary) {
		t.Errorf("err = %v", err)
	}
}
