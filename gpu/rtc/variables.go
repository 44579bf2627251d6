package rtc

import (
	"slices"
	"strings"

	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/key"
)

// variables are the beginnings of the names of environment variables that a
// library obeys. What is not known to change nothing is in.
var variables = [...][]string{
	// Those that libnvrtc 11.8 and 13.0 ask for: NVRTC_APPEND_FLAGS,
	// NVRTC_PREPEND_FLAGS, LLVM_OVERRIDE_PRODUCER, NVRTCWIZ, EDG_BASE.
	NVRTC: {"NVRTC", "NVVM_", "LLVM_OVERRIDE_", "EDG_"},
	HIPRTC: {
		"HIPRTC_", "AMD_COMGR_", "HIP_", "HSA_", "ROCM_", "LLVM_", "DEVICE_LIB_PATH", "CPATH", "C_INCLUDE_PATH",
		"CPLUS_INCLUDE_PATH", "OBJC", "CCC_", "COMPILER_PATH", "LLD_", // LLD_VERSION is in the code
	},
}

// mayHoldOptions reports whether a - or an @ begins something in the value of a variable: it does not in paths,
// and in lists of devices.
func mayHoldOptions(value string) bool {
	for i, c := range value {
		if (c == '-' || c == '@') && (i == 0 || !inWord(value[i-1])) {
			return true
		}
	}
	return false
}

func inWord(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || strings.IndexByte("_./-", c) >= 0
}

// moreOptions reports whether the library may have options of its variables. NVRTC 11.8 has,
// with NVRTCWIZ; what the others do to it is not known.
func (l *Library) moreOptions() bool {
	all, err := l.Variables()
	return err != nil || slices.ContainsFunc(all, func(v key.Pair) bool {
		return v.Value != "" && (l.api == NVRTC || mayHoldOptions(v.Value))
	})
}

// Variables returns the environment variables that the library obeys, as C sees
// them now.
func (l *Library) Variables() ([]key.Pair, error) {
	var all []key.Pair
	for _, e := range dl.Environ() {
		name, value, ok := strings.Cut(e, "=")
		obeyed := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
		if ok && slices.ContainsFunc(variables[l.api], obeyed) {
			all = append(all, key.Pair{Name: name, Value: value})
		}
	}
	return all, nil
}
