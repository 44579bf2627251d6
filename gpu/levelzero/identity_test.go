//go:build !nogpu && linux

package levelzero_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/gpu/levelzero"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/elfid"
	"github.com/kernstash/kernstash/key"
)

func sha(b []byte) [32]byte { return sha256.Sum256(b) }

// broken is a module that IGC refuses: one whose function calls what is no function.
func broken(t testing.TB) []byte {
	t.Helper()
	code := slices.Clone(spirv(t, "kernels"))
	for at := 20; at+4 <= len(code); {
		w := binary.LittleEndian.Uint32(code[at:])
		if w&0xffff == 54 { // OpFunction
			binary.LittleEndian.PutUint32(code[at:], w&^0xffff|999)
			return code
		}
		at += 4 * int(w>>16)
	}
	t.Fatal("no function")
	return nil
}

func init() {
	children["identity"] = identityChild
	children["no driver"] = noDriverChild
	children["being loaded"] = beingLoadedChild
}

type identity struct {
	Device    key.Device
	Variables []key.Pair
	Clang     bool // is loaded
}

func identityChild() error {
	d, err := firstDevice()
	if err != nil {
		return err
	}
	id, err := d.Identify()
	if err != nil {
		return err
	}
	fmt.Print(resultMark)
	clang := elfid.Loaded().Named(func(base string) bool { return strings.HasPrefix(base, "libclang") })
	return json.NewEncoder(os.Stdout).Encode(identity{id, d.Variables(), len(clang) > 0})
}

func identify(t *testing.T, env ...string) (id identity) {
	t.Helper()
	if err := json.Unmarshal([]byte(child(t, "identity", env...)), &id); err != nil {
		t.Fatal(err)
	}
	return id
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	id := identify(t)
	d := id.Device
	if d.API != "levelzero" || d.Platform != "Level Zero" || d.Version != "1.3" || !strings.HasPrefix(d.Driver, "1.3.") || !strings.HasPrefix(d.Name, "Intel") {
		t.Errorf("%+v", d)
	}
	for _, want := range []string{"libze_intel_gpu.so", "libigc.so", "libLLVM"} {
		if !slices.ContainsFunc(d.Compiler, func(p key.Pair) bool { return strings.HasPrefix(p.Name, want) && p.Value != "" }) {
			t.Errorf("%s is not among the compilers: %v", want, d.Compiler)
		}
	}
	for _, other := range []string{"libze_loader", "libigdfcl", "libopencl-clang", "libclang"} {
		if slices.ContainsFunc(d.Compiler, func(p key.Pair) bool { return strings.HasPrefix(p.Name, other) }) {
			t.Errorf("%s has no part in what is made of SPIR-V: %v", other, d.Compiler)
		}
	}
	if id.Clang {
		t.Error("clang is loaded, which nobody needs here")
	}
	want := []key.Pair{{Name: "NEOReadDebugKeys", Value: "1"}, {Name: "ProductFamilyOverride", Value: "tgllp"}, {Name: "SetCommandStreamReceiver", Value: "1"}}
	if diff := cmp.Diff(want, id.Variables); diff != "" {
		t.Error(diff)
	}
	if again := identify(t); again.Device.Digest() != d.Digest() {
		t.Errorf("another process has another identity: %v, %v", again.Device, d)
	}
	if other := identify(t, "ProductFamilyOverride=skl"); other.Device.Digest() == d.Digest() {
		t.Errorf("two products have one identity: %v", d)
	}
	if other := identify(t, "ZET_ENABLE_PROGRAM_DEBUGGING=1"); len(other.Variables) != 4 {
		t.Errorf("%v", other.Variables)
	}
}

// Without hardware, and without being told to do without, there is no driver.
func noDriverChild() error {
	_, err := levelzero.Devices()
	fmt.Print(resultMark, errors.Is(err, levelzero.ErrUnavailable), " ", err)
	return nil
}

func TestNoDriver(t *testing.T) {
	t.Parallel()
	out := child(t, "no driver", "NEOReadDebugKeys=0")
	if !strings.HasPrefix(out, "true list drivers: no Level Zero here: zeInit: ZE_RESULT_ERROR_UNINITIALIZED") {
		t.Errorf("%q", out)
	}
}

func TestIdentifyIsTheSameForACallerBetween(t *testing.T) {
	t.Parallel()
	d := device(t)
	other, err := levelzero.Find(levelzero.Entries{Environ: os.Environ()}, d.Handle())
	if err != nil {
		t.Fatal(err)
	}
	a, err1 := d.Identify()
	b, err2 := other.Identify()
	if err1 != nil || err2 != nil || a.Digest() != b.Digest() {
		t.Errorf("%v, %v; %v, %v", a, b, err1, err2)
	}
	if _, err := levelzero.Find(levelzero.Entries{}, 1); !errors.Is(err, levelzero.ErrArgument) {
		t.Errorf("err = %v", err)
	}
}

// beingLoadedChild prints each answer to what a compiler is linked with that there is
// while it is loaded.
func beingLoadedChild() error {
	const compiler = "libigdfcl.so.1"
	loaded := make(chan error, 1)
	go func() {
		_, err := dl.Open(compiler)
		loaded <- err
	}()
	answers := make(map[string]bool)
	for last := false; !last; {
		select {
		case err := <-loaded:
			if last = true; err != nil {
				return err
			}
		default:
		}
		m := elfid.Loaded()
		paths := m.Named(func(base string) bool { return strings.HasPrefix(base, compiler) })
		if len(paths) == 0 {
			continue
		}
		all, err := m.Closure(paths, func(string) bool { return true })
		if err != nil {
			return err
		}
		var names []string
		for _, l := range all {
			names = append(names, l.Soname)
		}
		answers[strings.Join(names, " ")] = true
	}
	fmt.Print(resultMark)
	for a := range answers {
		fmt.Println(a)
	}
	return nil
}

// A library is mapped before those that it is linked with: who asks meanwhile waits.
func TestCompilersThatAreBeingLoaded(t *testing.T) {
	t.Parallel()
	want := ""
	for range 10 {
		got := child(t, "being loaded")
		if want == "" {
			want = got
		}
		if got != want || strings.Count(got, "\n") != 1 {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}
