package drivers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/kernstash/kernstash/internal/elfid"
)

// Intel are the rules of Intel's driver, which has one compiler for all APIs.
//
// IGC_*: the compiler's own switches. CL_CONFIG_*: those of Intel's CPU runtime. NEO reads some
// fifteen hundred debug keys from variables that have the keys' names (ProductFamilyOverride,
// ForceDeviceId, …) when NEOReadDebugKeys is not 0; newer releases read them with a prefix ("NEO_",
// "NEO_OCL_", "NEO_L0_") too. Their names begin with a capital and go on in small letters, so with
// the switch on everything counts that looks so and that the library has as a text; UseKmdMigration
// and the like are in with it, at the price of a miss.
//
// IGC reads its switches from a file of a fixed name, too, for programs that the file
// names. NEO reads a file in the working directory when it is loaded, see IntelSettings.
var Intel = Rules{
	Prefixes: []string{"IGC_", "CL_CONFIG_", "NEO_", "NEOReadDebugKeys", "OverrideDefaultFP64Settings"},
	Except:   []string{"NEO_CACHE_", "NEO_OCL_CACHE_", "NEO_L0_CACHE_", "CL_CONFIG_CPU_TARGET_DUMP", "IGC_ShaderDump", "IGC_DumpToC"},
	SwitchOn: "NEOReadDebugKeys",
	Also:     debugKey,
	Files:    []string{"/tmp/IntelIGC/debugFlags/Options.txt"},
	AtLoad:   IntelSettings,
	Reads:    []string{"IGC_ShaderOverride"},
}

// switches are the variables under which Intel's compiler was called, or may have been. Both of
// Intel's drivers, of OpenCL and of Level Zero, call the one that the process has loaded, which keeps
// the switches of its first compilation.
var switches struct {
	mu    sync.Mutex
	known bool
	first []string
	err   error // of a call with others
}

// SteadySwitches notes that Intel's compiler may be called in an environment, as os.Environ has
// it, by whichever driver. It returns ErrVariables if its switches are not those of all calls before.
func SteadySwitches(environ []string) error {
	var now []string
	for _, e := range environ {
		if strings.HasPrefix(e, "IGC_") {
			now = append(now, e)
		}
	}
	slices.Sort(now)
	switches.mu.Lock()
	defer switches.mu.Unlock()
	if !switches.known {
		switches.known, switches.first = true, now
	}
	if !slices.Equal(now, switches.first) {
		switches.err = ErrVariables
	}
	return switches.err
}

// ErrStepping says that nobody knows the stepping of an Intel GPU.
var ErrStepping = errors.New("the GPU's stepping is not known")

// Stepping returns the stepping of an Intel GPU, for which its compiler makes different code
// under one name, device id and version: the revision of the PCI device of an id, at an address
// as 0000:03:00.0 where that is known, else of the only one, or of all that there are.
//
// A driver whose switches say that there is no hardware takes a stepping from a table of its
// own, or from another switch: that is told, since the driver's libraries and switches are in the
// key. environ is what the driver found when it was loaded.
func Stepping(id uint32, address string, environ []string) (string, error) {
	return stepping("/sys/bus/pci/devices", id, address, environ)
}

func stepping(root string, id uint32, address string, environ []string) (string, error) {
	if withoutHardware(environ) {
		return "of the driver's switches", nil
	}
	if address != "" {
		if r := revision(filepath.Join(root, address), id); r != "" {
			return r, nil
		}
	}
	all, err := os.ReadDir(root)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrStepping, err)
	}
	var found []string
	for _, d := range all {
		if r := revision(filepath.Join(root, d.Name()), id); r != "" {
			found = append(found, r)
		}
	}
	slices.Sort(found)
	if found = slices.Compact(found); len(found) != 1 {
		return "", fmt.Errorf("%w: %d revisions of device 0x%x", ErrStepping, len(found), id)
	}
	return found[0], nil
}

// revision returns the revision of the PCI device at a directory; "" where that is no device
// of Intel's with the id: a driver may say of a device that is not there that it is in some place.
func revision(dir string, id uint32) string {
	number := func(file string) int64 {
		b, _ := os.ReadFile(filepath.Join(dir, file))
		n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 0, 32)
		if err != nil {
			return -1
		}
		return int64(n)
	}
	r := number("revision")
	if r < 0 || number("vendor") != 0x8086 || number("device") != int64(id) {
		return ""
	}
	return fmt.Sprintf("0x%x", r)
}

// withoutHardware reports whether a driver writes what it would do to a file (1), or gives it
// to a simulator (2, 4), and so takes what its hardware is from a table.
func withoutHardware(environ []string) bool {
	return isOn(environ, Intel.SwitchOn) && slices.ContainsFunc(environ, func(e string) bool {
		value, ok := strings.CutPrefix(e, "SetCommandStreamReceiver=")
		return ok && (value == "1" || value == "2" || value == "4")
	})
}

// debugger is a library that Intel's driver opens by name when it is loaded, and keeps open
// where that says that a debugger is active. All is compiled for debugging then.
const debugger = "libigfxdbgxchg64.so"

// errDebugger says that Intel's driver compiles for a debugger.
var errDebugger = errors.New("the driver compiles for a debugger that is active: " + debugger)

// isDebugger reports whether a library of a base name is that debugger.
func isDebugger(base string) bool { return strings.HasPrefix(base, debugger) }

// debugKey reports whether a name may be one of NEO's debug keys, and is none of those that only
// print, dump or wait: it looks so, and one of NEO's libraries that are loaded has it.
func debugKey(name string) bool {
	if beginsWith(printing, name) || strings.Contains(name, "_") || name == "" {
		return false
	}
	if !unicode.IsUpper(rune(name[0])) || !strings.ContainsFunc(name, unicode.IsLower) {
		return false
	}
	if slices.Contains(commonKeys, name) {
		return true
	}
	// A library may be loaded later: that a name is none is looked up again.
	isNEO := func(base string) bool { return beginsWith([]string{"libigdrcl", "libze_intel_gpu"}, base) }
	return MayKnow(elfid.Loaded().Named(isNEO), name)
}

var printing = []string{"Print", "Dump", "Log", "AUBDump"}

// commonKeys are keys that no library is searched for, which takes milliseconds.
var commonKeys = []string{
	"ProductFamilyOverride", "SetCommandStreamReceiver", "HardwareInfoOverride", "OverrideRevision", "ForceDeviceId", "UseAubStream",
	"UseBindlessMode",
}

// Directory is what is known of the working directory that a driver was loaded in, from which
// it reads files of settings then. The process may have gone elsewhere since, and somebody else
// may have loaded the driver, so it is looked at whenever drivers may be loaded, and once when
// one is asked about. Its methods may be called by several goroutines.
type Directory struct {
	names []string // of the files

	mu    sync.Mutex
	first os.FileInfo // the directory when the driver was loaded, as far as we know
	there bool        // there was such a file in a directory that was looked at
	moved bool        // a directory that was looked at is not the first
	asked bool        // obeyed was called: the driver is there, and has read what it reads
}

// IntelSettings are the files that Intel's driver reads instead of the variables. libigdrcl and
// libze_intel_gpu 22.43 open the first when they are loaded, whether or not NEOReadDebugKeys is
// on; without it they take from the file only what their release builds know
// (OverrideDefaultFP64Settings). Releases since 2024 know the second name.
var IntelSettings = &Directory{names: []string{"igdrcl.config", "neo.config"}}

// A driver that the application loads by itself may be loaded before anybody calls us.
func init() { IntelSettings.look() }

// Loads tells that drivers may be loaded now.
func (d *Directory) Loads() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at, err := os.Stat("."); d.first == nil && err == nil {
		d.first = at
	}
	d.look()
}

// Saw tells what others have seen before: whether one of the files was in a directory that the
// process worked in, and whether it has gone to another directory.
func (d *Directory) Saw(there, moved bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.there = d.there || there
	d.moved = d.moved || moved
}

// look looks at the directory that the process works in now; the caller holds the lock.
func (d *Directory) look() {
	for _, name := range d.names {
		_, err := os.Lstat(name)
		d.there = d.there || !errors.Is(err, fs.ErrNotExist)
	}
	at, err := os.Stat(".")
	d.moved = d.moved || err != nil || d.first != nil && !os.SameFile(at, d.first)
}

// obeyed returns an error where the driver may have read one of the files. Where on says that
// the driver reads keys for those who work on it, it may have read them anywhere.
func (d *Directory) obeyed(on bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.asked {
		d.asked = true
		d.look()
	}
	switch names := strings.Join(d.names, " or "); {
	case d.there:
		return fmt.Errorf("%w: %s", ErrSettings, names)
	case d.moved && on:
		return fmt.Errorf("%w, maybe: %s of another working directory", ErrSettings, names)
	}
	return nil
}
