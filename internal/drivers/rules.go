// Package drivers knows what the drivers of GPUs have in common whichever API they
// are asked through: which libraries compile for them, and which environment
// variables they obey while they do.
package drivers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/key"
)

// Rules say which environment variables a driver obeys while it compiles.
type Rules struct {
	Prefixes []string               // all that start so,
	Names    []string               // and these,
	Except   []string               // but none that starts so
	SwitchOn string                 // if this variable is not zero,
	Also     func(name string) bool // what this says as well; may be nil
	Files    []string               // of settings, which it obeys where they are there when it compiles
	AtLoad   *Directory             // of settings that it reads when it is loaded; nil: there are none
	Reads    []string               // variables with which it reads files, unless they are 0
	Included []string               // headers that it reads unasked, from directories to search first
	Sets     []string               // variables that hold words whose order decides nothing
}

// Of returns the variables of an environment, as os.Environ has it, that the rules
// name, sorted by name.
func (r *Rules) Of(environ []string) []key.Pair {
	on := isOn(environ, r.SwitchOn)
	var pairs []key.Pair
	for _, e := range environ {
		if name, value, _ := strings.Cut(e, "="); r.obeys(name, on) {
			if slices.Contains(r.Sets, name) {
				value = strings.Join(slices.Sorted(slices.Values(strings.Fields(value))), " ")
			}
			pairs = append(pairs, key.Pair{Name: name, Value: value})
		}
	}
	slices.SortFunc(pairs, func(a, b key.Pair) int { return strings.Compare(a.Name, b.Name) })
	return pairs
}

// isOn says whether a variable has a value that is not zero.
func isOn(environ []string, variable string) (on bool) {
	for _, e := range environ {
		if name, value, _ := strings.Cut(e, "="); variable != "" && name == variable {
			on = value != "0" && value != ""
		}
	}
	return on
}

func (r *Rules) obeys(name string, on bool) bool {
	if beginsWith(r.Except, name) {
		return false
	}
	return beginsWith(r.Prefixes, name) || slices.Contains(r.Names, name) || on && r.Also != nil && r.Also(name)
}

func beginsWith(prefixes []string, name string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// Intel are the rules of Intel's driver, which has one compiler for all APIs.
//
// IGC_*: the compiler's own switches. CL_CONFIG_*: those of Intel's CPU runtime.
// NEO reads some fifteen hundred debug keys from variables that have the keys' names
// (ProductFamilyOverride, ForceDeviceId, …) when NEOReadDebugKeys is not 0; newer
// releases read them with a prefix ("NEO_", "NEO_OCL_", "NEO_L0_") too. Their names
// begin with a capital and go on in small letters, so with the switch on everything
// counts that looks so and that the library has as a text; UseKmdMigration and the like are
// in with it, at the price of a miss.
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

// IncludedFrom returns the path of a header in one of the directories that the driver would
// read unasked; "" where there is none.
func (r *Rules) IncludedFrom(dirs []string) string {
	for _, dir := range dirs {
		for _, name := range r.Included {
			path := filepath.Join(dir, name)
			if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
				return path
			}
		}
	}
	return ""
}

// Obeyed returns an error that names what the rules know of that the driver reads while it
// compiles, or has read when it was loaded: a file, or a variable that has it read some. Such
// files are for those who work on the driver: where one is there nobody knows what the driver
// makes of a program. A path that is not absolute is in the working directory. The environment
// is as os.Environ has it.
func (r *Rules) Obeyed(environ []string) error {
	for _, path := range r.Files {
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%w: %s", ErrSettings, path)
		}
	}
	for _, name := range r.Reads {
		if isOn(environ, name) {
			return fmt.Errorf("%w: %s is set", ErrSettings, name)
		}
	}
	if r.AtLoad == nil {
		return nil
	}
	return r.AtLoad.obeyed(isOn(environ, r.SwitchOn))
}

// ErrSettings is wrapped where a compiler obeys, or may obey, a file of settings.
var ErrSettings = errors.New("the compiler obeys a file of settings")
