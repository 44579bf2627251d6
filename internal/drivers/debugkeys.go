package drivers

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/kernstash/kernstash/internal/elfid"
)

// debugKey reports whether a name may be one of NEO's debug keys, and is none
// of those that only print, dump or wait: it looks so, and one of NEO's libraries that
// are loaded has it.
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

// MayKnow reports whether one of the libraries at paths may look for a variable of a name: the
// name ends a text in it. Without libraries, or where one cannot be read, it may.
func MayKnow(paths []string, name string) bool {
	return len(paths) == 0 || slices.ContainsFunc(paths, func(path string) bool {
		k := [2]string{path, name}
		if in, ok := texts.Load(k); ok {
			return in.(bool)
		}
		content, err := os.ReadFile(path)
		in := err != nil || bytes.Contains(content, append([]byte(name), 0))
		texts.Store(k, in)
		return in
	})
}

// texts holds [2]string{path, name} → bool. What is loaded stays until the process ends.
var texts sync.Map
