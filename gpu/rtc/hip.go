package rtc

import (
	"errors"
	"os"
	"slices"
	"strings"
)

var (
	errArch    = errors.New("no architecture is named: HIPRTC asks the device")
	errQuote   = errors.New("HIPRTC looks for its own header in the directories of -iquote")
	errBuiltin = errors.New("hiprtc_runtime.h is in the working directory, and goes before HIPRTC's own")
)

// archOptions are the options that name what HIPRTC compiles for.
var archOptions = []string{"--offload-arch", "--gpu-architecture", "-mcpu", "--amdgpu-target"}

// hipKnown says why nobody knows what HIPRTC makes of options: without an
// architecture it compiles for the device that is current.
func hipKnown(options []string) error {
	named := slices.ContainsFunc(options, func(o string) bool {
		name, arch, ok := strings.Cut(o, "=")
		return ok && slices.Contains(archOptions, name) && arch != "" && !strings.Contains(arch, "native")
	})
	if !named {
		return errArch
	}
	// It is included in front of each program, and looked for here first, precompiled
	// before all, and in the directories of -iquote (strace of 5.2.3).
	for _, name := range []string{"hiprtc_runtime.h", "hiprtc_runtime.h.pch", "hiprtc_runtime.h.gch"} {
		if _, err := os.Lstat(name); err == nil {
			return errBuiltin
		}
	}
	if slices.ContainsFunc(options, func(o string) bool { return strings.HasPrefix(strings.TrimLeft(o, " "), "-iquote") }) {
		return errQuote
	}
	return nil
}
