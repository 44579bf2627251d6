package launch

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/internal/ldso"
	"github.com/kernstash/kernstash/internal/supervise"
)

// The doors, and what to say to have one chosen.
const (
	DoorAuto    = "auto"
	DoorLayer   = "layer"   // OPENCL_LAYERS: the loader brings us in
	DoorPreload = "preload" // LD_PRELOAD: the dynamic linker does
)

// Loader is the file name of the OpenCL loader.
const Loader = "libOpenCL.so.1"

// Target is what is to be known of a command before it runs.
type Target struct {
	File    string // of the command
	Program *ldso.Program
	Script  string // what interprets it, if it is a script; Program is of that
	Loader  string // the OpenCL loader that the dynamic linker would find; "" for none
	Layers  bool   // that loader knows layers
	SetID   bool   // it runs with rights that the user has not
}

// maxScripts bounds how many interpreters of interpreters are looked at.
const maxScripts = 4

// Look finds out about a command. Whatever it cannot find out stays open.
func Look(file string, env []string) Target {
	e := environ(env)
	t := Target{File: file, SetID: setID(file)}
	at := file
	for range maxScripts {
		p, err := ldso.Inspect(at)
		var script *ldso.Script
		if errors.As(err, &script) {
			if at = interpreterOf(script, e.get("PATH")); at == "" {
				return t
			}
			t.Script = at
			t.SetID = setID(at) // a script has no rights of its own
			continue
		}
		if err != nil {
			return t
		}
		t.Program = p
		break
	}
	if t.Program == nil || t.Program.Static {
		return t
	}
	if t.Loader = ldso.Here.Library(t.Program, Loader, e.get("LD_LIBRARY_PATH")); t.Loader != "" {
		t.Layers = KnowsLayers(t.Loader)
	}
	return t
}

// interpreterOf returns the file that a script is given to; of env(1) what that
// runs.
func interpreterOf(s *ldso.Script, path string) string {
	words := s.Interpreter
	if filepath.Base(words[0]) != "env" || len(words) == 1 {
		return words[0]
	}
	for _, word := range strings.Fields(words[1]) {
		if !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
			file, err := supervise.Find(word, path)
			if err != nil {
				return ""
			}
			return file
		}
	}
	return ""
}

// maxLoader bounds what is read of a loader.
const maxLoader = 16 << 20

// KnowsLayers says whether an OpenCL loader looks at OPENCL_LAYERS. CUDA's own does not.
func KnowsLayers(loader string) bool {
	f, err := os.Open(loader)
	if err != nil {
		return false
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxLoader))
	return err == nil && bytes.Contains(b, []byte("OPENCL_LAYERS\x00"))
}

// drivers are libraries that a program may be linked with instead of a loader.
var drivers = []string{"libpocl.so", "libnvidia-opencl.so", "libigdrcl.so", "libamdocl64.so", "libRusticlOpenCL.so", "libMesaOpenCL.so"}

// Door chooses how to get in: through the loader if it knows layers, or if there
// is none to be seen, as in programs that bring their own. By preloading where
// the loader knows none, or there is none between the program and a driver.
func (t Target) Door(wanted string) (string, error) {
	switch wanted {
	case DoorLayer, DoorPreload:
		return wanted, nil
	case DoorAuto:
	default:
		return "", usagef("--door %s: want %s, %s or %s", wanted, DoorAuto, DoorLayer, DoorPreload)
	}
	if t.Loader != "" && !t.Layers {
		return DoorPreload, nil
	}
	if t.Program != nil && slices.ContainsFunc(t.Program.Needed, isDriver) {
		return DoorPreload, nil
	}
	return DoorLayer, nil
}

func isDriver(library string) bool {
	return slices.ContainsFunc(drivers, func(d string) bool { return strings.HasPrefix(library, d) })
}

// fits says whether our libraries are for the machine that the command is for.
func (t Target) fits() bool {
	if t.Program == nil {
		return true
	}
	machine, known := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
	return !known || t.Program.Class == elf.ELFCLASS64 && t.Program.Machine == machine
}

// Preloads says whether something may be preloaded into the command: the dynamic
// linker of a program for another machine would complain on standard error, and
// musl's refuses to start, as do programs with an address sanitizer that is not the
// first library of all.
func (t Target) Preloads() bool {
	return t.fits() && (t.Program == nil ||
		!strings.Contains(filepath.Base(t.Program.Linker), "musl") && !slices.ContainsFunc(t.Program.Needed, comesFirst))
}

// comesFirst says whether a library ends the process where another stands before it.
func comesFirst(library string) bool {
	return strings.HasPrefix(library, "libasan.so") || strings.HasPrefix(library, "libclang_rt.asan")
}

// kindOf names a program's machine for people.
func kindOf(p *ldso.Program) string {
	bits := 64
	if p.Class == elf.ELFCLASS32 {
		bits = 32
	}
	return fmt.Sprintf("a %d-bit program (%s)", bits, strings.TrimPrefix(p.Machine.String(), "EM_"))
}
