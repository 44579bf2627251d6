package entries

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// KernelName returns the name of a kernel as its source has it, "scale<float>", without
// its parameters, if name is one that C++ compilers made of such; else name.
func KernelName(name string) string {
	const maxName, maxText = 4096, 12 // bytes, and 2^12 bytes: substitutions double a text again and again
	if !strings.HasPrefix(name, "_Z") || len(name) > maxName {
		return name
	}
	return demangle.Filter(name, demangle.NoParams, demangle.NoRust, demangle.LLVMStyle, demangle.MaxLength(maxText))
}
