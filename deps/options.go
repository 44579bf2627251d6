package deps

import (
	"strings"

	"github.com/kernstash/kernstash/stats"
)

// readsFile are the starts of options that name a file to read.
var readsFile = []string{
	"-include", "--include", "-imacros", "--imacros", "@", "-fmodule", "-ivfsoverlay",
	"-fpch", "--pre-include", "-pch", "--pch", "--use-pch", "--create-pch", "-use-pch",
	"--options-file", "-optf", "-fprofile-use", "-fprofile-instr-use",
}

// writesFile are the starts of options with side effects: they write files,
// load code or report times, which a hit would leave out.
var writesFile = []string{
	"-save-temps", "--save-temps", "-M", "-o", "--output", "-dump", "--dump", "-fdump",
	"-ftime-trace", "-ftime-report", "-fplugin", "-load", "-fprofile-generate",
	"-fprofile-instr-generate", "--serialize-diagnostics", "-dependency-file", "--time",
	"-fsave-optimization-record", "-foptimization-record-file", "-v", "-###", "-E",
}

// harmless are the starts of options that only look like one of the above.
var harmless = []string{"-optimize", "-opt-level"}

// ScanOptions looks through the words of build options (see key.Tokens) for
// what reads or writes files, and for macros that depend on time. readsPath
// says that a directory to search was given.
func ScanOptions(words []string) (reason Reason, readsPath bool) {
	for _, w := range words {
		w = strings.Trim(w, `"'`)
		switch {
		case hasPrefix(w, harmless):
		case hasPrefix(w, readsFile):
			return Reason{stats.NotCacheableHeaders, "option " + w}, readsPath
		case hasPrefix(w, writesFile):
			return Reason{stats.NotCacheableOptions, "option " + w}, readsPath
		case strings.Contains(w, "__DATE__"), strings.Contains(w, "__TIME"):
			return Reason{stats.NotCacheableTime, "option " + w}, readsPath
		case strings.HasPrefix(w, "-I"), strings.HasPrefix(w, "--include-path"),
			strings.HasPrefix(w, "-isystem"), strings.HasPrefix(w, "-iquote"), strings.HasPrefix(w, "-idirafter"),
			strings.HasPrefix(w, "-isysroot"), strings.HasPrefix(w, "-iprefix"), strings.HasPrefix(w, "-iwithprefix"):
			readsPath = true
		}
	}
	return Reason{}, readsPath
}

func hasPrefix(w string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(w, p) {
			return true
		}
	}
	return false
}
